"""The names of the package exist, and cost nothing before they are used."""

import subprocess
import sys

import thalweg_agent.backends


def test_every_name_is_there() -> None:
    """Each where users of Deep Agents look for it, or one of ours."""
    for name in thalweg_agent.backends.__all__:
        assert getattr(thalweg_agent.backends, name) is not None
    assert set(thalweg_agent.backends.__all__) <= set(dir(thalweg_agent.backends))
    assert not hasattr(thalweg_agent.backends, "NoSuchBackend")


def test_folders_shells_and_sandboxes_bring_no_langgraph() -> None:
    """State and stores do; who keeps files in a folder should not wait for them."""
    program = (
        "import sys, thalweg_agent.backends as b;"
        "b.FilesystemBackend, b.LocalShellBackend, b.BaseSandbox, b.CompositeBackend;"
        "print([m for m in sys.modules if m.split('.')[0] in"
        " {'langgraph', 'langchain', 'langchain_core', 'wcmatch', 'pydantic'}])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert ran.stdout.decode().strip() == "[]"
