"""A shell: the agent runs the tests, fixes what fails, and runs them again.

`LocalShellBackend` runs commands as you. Use it where you would run them yourself; elsewhere use a
backend whose `execute` runs in a container.
"""

import sys
import tempfile
from pathlib import Path

from scripted import calls, model, show
from thalweg_agent import create_deep_agent
from thalweg_agent.backends import LocalShellBackend

TEST = f"{sys.executable} -m unittest -q"

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "leap.py").write_text("def leap(year):\n    return year % 4 == 0\n", encoding="utf-8")
    (folder / "test_leap.py").write_text(
        "import unittest\n\nfrom leap import leap\n\n\nclass Leap(unittest.TestCase):\n"
        "    def test_a_century_is_none(self):\n        self.assertFalse(leap(1900))\n",
        encoding="utf-8",
    )

    agent = create_deep_agent(
        model=model(
            calls("execute", command=TEST),
            calls("read_file", file_path="/leap.py"),
            calls(
                "edit_file",
                file_path="/leap.py",
                old_string="year % 4 == 0",
                new_string="year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)",
            ),
            calls("execute", command=TEST),
            "The test passes: centuries are leap years only every 400 years.",
        ),
        backend=LocalShellBackend(root_dir=folder, virtual_mode=True, inherit_env=True),
    )
    result = agent.invoke({"messages": "The tests fail. Make them pass."})
    show(result["messages"])
