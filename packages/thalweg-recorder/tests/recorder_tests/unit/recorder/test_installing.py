"""An installation changes what it shows, and an uninstallation removes every trace."""

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from thalweg.errors import ConfigError
from thalweg_recorder import hook
from thalweg_recorder.installing import (
    MANIFEST,
    apply_changes,
    installed_folders,
    pick_agents,
    plan_install,
    plan_uninstall,
)
from thalweg_recorder.recordings.agents import AGENTS, Machine

OWN_HOOK = {"hooks": [{"type": "command", "command": "mine"}]}
BEFORE = {
    ".claude/settings.json": '{\n    "model": "opus",\n    "hooks": '
    + json.dumps({"Stop": [OWN_HOOK]})
    + "}",
    ".claude.json": '{"numStartups": 3, "mcpServers": {"other": {"command": "x"}}}',
    ".codex/config.toml": '# mine\nmodel = "gpt-5"',
    ".gemini/settings.json": '{"ui":{"theme":"Grün"}}\n',
}


def _install(home: Path, **variables: str) -> None:
    folder = home / ".thalweg"
    apply_changes(folder, plan_install(Machine(home, variables), folder, AGENTS), installs=True)


def _uninstall(home: Path, **variables: str) -> None:
    folder = home / ".thalweg"
    apply_changes(folder, plan_uninstall(Machine(home, variables), folder, AGENTS), installs=False)


def _state(home: Path) -> dict[str, bytes]:
    paths = (path for path in home.rglob("*") if path.is_file())
    files = {str(path.relative_to(home)): path.read_bytes() for path in paths}
    return {name: data for name, data in files.items() if not name.startswith(".thalweg")}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name, text in BEFORE.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_what_was_there_stays_and_comes_back_to_the_byte(home: Path) -> None:
    before = _state(home)
    _install(home)
    during = _state(home)
    _install(home)
    assert _state(home) == during

    settings_of = json.loads(during[".claude/settings.json"])
    assert settings_of["model"] == "opus"
    assert settings_of["hooks"]["Stop"][0] == OWN_HOOK
    assert "hook.py" in settings_of["hooks"]["Stop"][1]["hooks"][0]["command"]
    assert settings_of["hooks"]["SessionStart"][0]["matcher"] == "compact"
    assert set(json.loads(during[".claude.json"])["mcpServers"]) == {"other", "thalweg"}
    assert during[".codex/config.toml"].startswith(before[".codex/config.toml"])
    _uninstall(home)
    assert _state(home) == before


def test_files_that_their_agent_wrote_anew_are_installed_still(home: Path) -> None:
    """Claude Code writes `.claude.json` at each start, Codex adds tables to `config.toml`."""
    _install(home)
    place = home / ".claude.json"
    document = json.loads(place.read_text())
    place.write_text(json.dumps(dict(sorted({**document, "zz": 1}.items())), indent=2))
    toml = home / ".codex" / "config.toml"
    toml.write_text(toml.read_text() + '[projects."/src"]\ntrust_level = "trusted"\n')
    assert plan_install(Machine(home, {}), home / ".thalweg", AGENTS) == []


def test_hooks_of_an_earlier_version_are_replaced(home: Path) -> None:
    """Their path was `thalweg/recorder/hook.py`."""
    _install(home)
    during = _state(home)
    for name, data in during.items():
        (home / name).write_bytes(
            data.replace(b"thalweg_recorder/hook.py", b"thalweg/recorder/hook.py")
        )
    assert _state(home) != during
    _install(home)
    assert _state(home) == during


def test_a_folder_that_an_earlier_version_noted_is_corrected(home: Path) -> None:
    _install(home)
    folder, correct = home / ".thalweg", installed_folders(home / ".thalweg")
    manifest = json.loads((folder / MANIFEST).read_text())
    earlier = {path: {**known, "folder": "/earlier"} for path, known in manifest.items()}
    (folder / MANIFEST).write_text(json.dumps(earlier))
    place = home / ".claude.json"
    place.write_text(json.dumps(json.loads(place.read_text()), indent=7))  # as its agent may
    plugin = next(
        c for c in plan_install(Machine(home, {}), folder, AGENTS) if c.path.suffix == ".js"
    )
    assert plugin.diff == f"{plugin.path}: sessions in {home}/.local/share/opencode\n"
    _install(home)
    assert installed_folders(folder) == correct
    assert plan_install(Machine(home, {}), folder, AGENTS) == []
    _uninstall(home)
    assert json.loads(place.read_text()) == json.loads(BEFORE[".claude.json"])


def test_what_its_owner_changed_since_stays(home: Path) -> None:
    _install(home)
    place = home / ".claude.json"
    changed = {**json.loads(place.read_text()), "numStartups": 4}
    place.write_text(json.dumps(changed))
    toml = home / ".codex" / "config.toml"
    toml.write_text(toml.read_text() + "[tui]\n")
    _uninstall(home)

    left = json.loads(place.read_text())
    assert left == {"numStartups": 4, "mcpServers": {"other": {"command": "x"}}}
    assert toml.read_text() == '# mine\nmodel = "gpt-5"\n[tui]\n'


def test_a_hook_that_its_owner_added_to_our_group_stays(home: Path) -> None:
    """Claude Code adds a hook of its user to the group of an event that is there."""
    _install(home)
    place = home / ".claude" / "settings.json"
    changed, own = json.loads(place.read_text()), {"type": "command", "command": "say done"}
    changed["hooks"]["Stop"][-1]["hooks"].append(own)
    place.write_text(json.dumps(changed))
    _install(home)
    assert json.loads(place.read_text())["hooks"]["Stop"][-2] == {"hooks": [own]}
    _uninstall(home)

    before = json.loads(BEFORE[".claude/settings.json"])
    stop = [*before.get("hooks", {}).get("Stop", []), {"hooks": [own]}]
    assert json.loads(place.read_text()) == {
        **before,
        "hooks": {**before.get("hooks", {}), "Stop": stop},
    }


@pytest.mark.parametrize("package", ["thalweg_recorder", "thalweg/recorder"])
def test_a_hook_at_another_path_is_replaced_and_removed(home: Path, package: str) -> None:
    """In files that were changed since, by this installation or an older one."""
    _install(home)
    places = [home / ".claude/settings.json", home / ".config/opencode/plugin/thalweg.js"]
    installed = [place.read_text() for place in places]
    for place, text in zip(places, installed, strict=True):
        moved = text.replace(hook.__file__, f"/elsewhere/{package}/hook.py")
        place.write_text(moved.replace("thalweg_recorder/hook.py at", f"{package}/hook.py at"))
    _install(home)
    assert [place.read_text() for place in places] == installed

    for place, text in zip(places, installed, strict=True):
        place.write_text(text.replace(hook.__file__, f"/elsewhere/{package}/hook.py"))
    _uninstall(home)
    assert json.loads(places[0].read_text()) == json.loads(BEFORE[".claude/settings.json"])
    assert not places[1].exists()


def test_a_changed_file_is_not_overwritten(home: Path) -> None:
    changes = plan_install(Machine(home, {}), home / ".thalweg", AGENTS)
    (home / ".claude.json").write_text("{}")
    with pytest.raises(ConfigError, match="changed in the meantime"):
        apply_changes(home / ".thalweg", changes, installs=True)
    assert (home / ".claude.json").read_text() == "{}"


def test_a_link_stays_a_link_and_a_mode_a_mode(home: Path) -> None:
    real = home / "dotfiles.json"
    real.write_text("{}")
    real.chmod(0o640)
    place = home / ".claude.json"
    place.unlink()
    place.symlink_to(real)
    _install(home)
    assert place.is_symlink()
    assert "thalweg" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    "text",
    [
        "// comments\n{}",
        "[]",
        '{"hooks": 3}',
        '{"hooks": {"AfterAgent": null}}',
        '{"mcpServers": null}',
    ],
)
def test_what_is_no_configuration_is_refused(home: Path, text: str) -> None:
    (home / ".gemini" / "settings.json").write_text(text)
    with pytest.raises(ConfigError, match="gemini/settings"):
        plan_install(Machine(home, {}), home / ".thalweg", AGENTS)


def test_hosts_are_those_that_are_used_or_named(home: Path) -> None:
    machine = Machine(home, {})
    used = [agent.name for agent in pick_agents(machine)]
    assert used == ["claude-code", "codex", "gemini-cli"]
    assert [agent.name for agent in pick_agents(machine, ["opencode"])] == ["opencode"]
    with pytest.raises(ConfigError, match="there is no agent"):
        pick_agents(machine, ["emacs"])


def test_variables_move_the_configuration_and_off_finds_every_profile(home: Path) -> None:
    before = _state(home)
    moved = {
        "CLAUDE_CONFIG_DIR": str(home / "work-claude"),
        "CODEX_HOME": str(home / "data" / "codex"),
        "GEMINI_CLI_HOME": str(home / "g"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"),
    }
    _install(home)
    _install(home, **moved)
    during = _state(home)
    for name in (
        "work-claude/settings.json",
        "work-claude/.claude.json",
        "data/codex/hooks.json",
        "g/.gemini/settings.json",
        "config/opencode/plugin/thalweg.js",
    ):
        assert b"thalweg" in during[name]
    folders = installed_folders(home / ".thalweg")
    assert set(folders["claude-code"]) == {home / ".claude", home / "work-claude"}
    # A shell without the variables finds the sessions, which opencode has apart from its settings.
    assert set(folders["opencode"]) == {home / ".local/share/opencode", home / "data/opencode"}
    _uninstall(home)
    assert _state(home) == before


def test_a_hook_whose_environment_is_gone_reports_it_once(home: Path, tmp_path: Path) -> None:
    _install(home)
    written = json.loads((home / ".claude/settings.json").read_text())
    command = written["hooks"]["Stop"][1]["hooks"][0]["command"]
    moved = command.replace(hook.__file__, str(tmp_path / "nowhere" / "hook.py"))
    runs = [
        subprocess.run(
            ["/bin/sh", "-c", moved], input="{}", capture_output=True, text=True, check=True
        )
        for _ in range(2)
    ]
    assert "thalweg record on" in json.loads(runs[0].stdout)["systemMessage"]
    assert [one.stderr for one in runs] == ["", ""]
    assert runs[1].stdout == ""


_TEXTS = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=4)


@settings(deadline=None, max_examples=50)
@given(document=_TEXTS, indent=st.sampled_from([None, 1, 4, "\t"]), end=st.sampled_from(["", "\n"]))
def test_any_configuration_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    document: dict[str, object],
    indent: int | None,
    end: str,
) -> None:
    assume("hooks" not in document)  # a text or a number there is refused, see above
    home = tmp_path_factory.mktemp("home")
    (home / ".claude.json").write_text(json.dumps(document, indent=indent) + end)
    before = _state(home)
    _install(home)
    _uninstall(home)
    assert _state(home) == before
