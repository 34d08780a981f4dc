"""A file that changes: new settings, or the old ones and why."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from thalweg.errors import SettingsError
from thalweg_server.settings import SettingsFile

Write = Callable[[str], None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with one setting."""
    file = tmp_path / "config.yaml"
    file.write_text("memory: {max_facts: 1}", encoding="utf-8")
    return file


def test_a_file_that_changed_is_read_again(path: Path) -> None:
    file = SettingsFile(path, environ={})
    assert file.current.memory.max_facts == 1
    assert file.reload_if_changed() is None

    path.write_text("memory: {max_facts: 2}", encoding="utf-8")  # as long, and at once
    new = file.reload_if_changed()
    assert new is not None
    assert new.memory.max_facts == 2
    assert file.current is new
    assert file.reload_if_changed() is None


def test_a_change_that_says_the_same_is_none(path: Path) -> None:
    file = SettingsFile(path, environ={})
    path.write_text("# a remark\nmemory: {max_facts: 1}", encoding="utf-8")
    assert file.reload_if_changed() is None
    assert file.problem is None


def test_a_broken_file_changes_nothing_and_says_why(path: Path) -> None:
    file = SettingsFile(path, environ={})
    before = file.current
    path.write_text("memory: {max_facts: none}", encoding="utf-8")

    assert file.reload_if_changed() is None
    assert file.current is before
    assert file.problem is not None
    assert str(file.problem).startswith(f"{path}:1:10: memory.max_facts: 'none' cannot be used")
    assert file.reload_if_changed() is None
    assert file.problem is not None

    path.write_text("memory: {max_facts: 3}", encoding="utf-8")
    assert file.reload_if_changed() is not None
    assert file.problem is None


def test_a_file_that_is_mended_back_is_no_problem_any_more(path: Path) -> None:
    file = SettingsFile(path, environ={})
    path.write_text("memory: {", encoding="utf-8")
    file.reload_if_changed()
    assert file.problem is not None
    path.write_text("memory: {max_facts: 1}", encoding="utf-8")
    assert file.reload_if_changed() is None
    assert file.problem is None


def test_a_file_that_is_gone_changes_nothing_and_says_so(path: Path) -> None:
    file = SettingsFile(path, environ={})
    path.unlink()
    assert file.reload_if_changed() is None
    assert file.current.memory.max_facts == 1
    assert "the file does not exist" in str(file.problem)

    path.write_text("memory: {max_facts: 5}", encoding="utf-8")
    assert file.reload_if_changed() is not None


def test_a_usual_file_that_is_gone_does_not_bring_the_defaults_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may let in whom the file did not."""
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text("memory: {max_facts: 5}", encoding="utf-8")
    file = SettingsFile(environ={})
    Path("config.yaml").unlink()
    assert file.reload_if_changed() is None
    assert file.current.memory.max_facts == 5
    assert "the file does not exist" in str(file.problem)


def test_two_changes_within_one_tick_of_the_clock_are_both_seen(path: Path) -> None:
    file = SettingsFile(path, environ={})
    at = path.stat().st_mtime_ns
    path.write_text("memory: {max_facts: 2}", encoding="utf-8")
    os.utime(path, ns=(at, at))
    assert file.reload_if_changed() is not None


class Slow(dict[str, str]):
    """Variables that take a while."""

    def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override]
        """See `dict.get`."""
        time.sleep(0.02)
        return super().get(name, default)


def test_whoever_asks_while_another_reads_is_not_answered_with_the_old(path: Path) -> None:
    file = SettingsFile(path, environ=Slow(LIMIT="7"))
    path.write_text("memory: {max_facts: $LIMIT}", encoding="utf-8")

    def ask(_: int) -> int:
        file.reload_if_changed()
        return file.current.memory.max_facts

    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(ask, range(4))] == [7] * 4


def test_a_file_that_comes_later_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = SettingsFile(environ={})
    assert file.reload_if_changed() is None
    Path("config.yaml").write_text("memory: {max_facts: 5}", encoding="utf-8")
    new = file.reload_if_changed()
    assert new is not None
    assert new.memory.max_facts == 5


def test_what_only_a_restart_brings_is_kept(path: Path) -> None:
    file = SettingsFile(path, environ={})
    path.write_text(
        "storage: {home: there}\ngateway: {port: 9, max_streams: 3}\nmemory: {max_facts: 1}",
        encoding="utf-8",
    )
    new = file.reload_if_changed()

    assert new is not None
    assert (new.storage.home, new.gateway.port) == (".thalweg", 8001)
    assert new.gateway.max_streams == 3


@pytest.mark.parametrize(
    ("section", "field", "value"),
    [
        ("storage", "url", "postgresql://db/thalweg"),
        ("storage", "direct_url", "postgresql://db/thalweg"),
        ("storage", "files", "there"),
        ("memory", "storage_path", "other.json"),
        ("gateway", "host", "localhost"),
        ("gateway", "root_path", "/agents"),
        ("gateway", "header_timeout_s", "1"),
        ("gateway", "max_runs", "1"),
        ("gateway", "run_time_limit_s", "1"),
    ],
)
def test_what_a_process_reads_at_its_start_is_named(
    path: Path, caplog: pytest.LogCaptureFixture, section: str, field: str, value: str
) -> None:
    """In the log and to the operator, until the file has the old value again."""
    file, text = SettingsFile(path, environ={}), path.read_text(encoding="utf-8")
    before = file.current
    path.write_text(f"{section}: {{{field}: {value}}}", encoding="utf-8")
    file.reload_if_changed()
    assert f"{section}.{field}" in file.needs_restart
    assert f"{path}: a restart applies {', '.join(file.needs_restart)}" in caplog.text
    new, old = getattr(file.current, section), getattr(before, section)
    assert getattr(new, field) == getattr(old, field)
    path.write_text(text, encoding="utf-8")
    file.reload_if_changed()
    assert (file.needs_restart, file.current) == ((), before)


def test_the_last_key_of_a_gateway_that_strangers_reach_stays(path: Path) -> None:
    """A new file for another host cannot open a door that this process still has."""
    text = "gateway: {host: 0.0.0.0, keys: [{key: hush, owner: ada}]}"
    path.write_text(text, encoding="utf-8")
    file = SettingsFile(path, environ={})
    path.write_text("gateway: {host: 127.0.0.1}", encoding="utf-8")

    assert file.reload_if_changed() is None
    assert not file.current.gateway.is_open
    assert file.problem is not None
    assert file.problem.key == "gateway.host"
    assert "everyone would have access; add gateway.keys" in str(file.problem)


def test_there_are_no_settings_without_a_first_good_file(path: Path) -> None:
    path.write_text("memry: {}", encoding="utf-8")
    with pytest.raises(SettingsError, match="did you mean 'memory'"):
        SettingsFile(path, environ={})


def test_of_many_threads_one_reads_a_change_and_none_sees_half_of_it(path: Path) -> None:
    file = SettingsFile(path, environ={})
    with ThreadPoolExecutor(8) as pool:
        for count in range(2, 12):
            fresh = path.with_suffix(".new")
            fresh.write_text(
                f"memory: {{max_facts: {count}, learn_turns: {count}}}", encoding="utf-8"
            )
            fresh.replace(path)
            asked = [pool.submit(file.reload_if_changed) for _ in range(16)]
            new = [each for each in (ask.result() for ask in asked) if each is not None]
            assert [each.memory.max_facts for each in new] == [count]
            assert file.current.memory.learn_turns == count
