"""The screen of `thalweg serve`, and what its command line refuses."""

from typer.testing import CliRunner

from thalweg_server.cli.serve import screen, serve
from thalweg_server.settings.loading import examine_text


def test_the_screen_names_settings_that_have_no_effect() -> None:
    report = examine_text(
        b"agent: {shell: true}\nmemory: {similarity_weight: 0.7, confidence_weight: 0.3}",
        "c.yaml",
        {},
    )
    lines = "\n".join(screen(report.unless_wrong(), "http://h", report))

    names = "agent.shell, memory.similarity_weight, memory.confidence_weight"
    assert f"c.yaml, of which {names} have no effect here;" in lines
    assert "`thalweg config show c.yaml`" in lines


def test_the_screen_of_a_file_without_such_settings_names_the_file() -> None:
    report = examine_text(b"agent: {shell: false}", "c.yaml", {})
    assert "  settings  c.yaml\n" in "\n".join(screen(report.unless_wrong(), "http://h", report))


def test_a_file_named_twice_is_refused() -> None:
    ended = CliRunner().invoke(serve, ["a.yaml", "--config", "b.yaml"])
    assert ended.exit_code
    assert "a.yaml is set as well; name the file once" in f"{ended.output}{ended.exception}"
