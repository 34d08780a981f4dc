"""Hermes Agent itself, installed elsewhere, with our engine as its plug-in.

Its versions pin other packages than ours, so that it has an environment of its own, with `thalweg`
installed in it, too: `THALWEG_HERMES` is that environment's Python.
"""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from strict_llm import Answer, Request, StrictProvider
from thalweg.archive import ThreadKey, open_archive

PYTHON = os.environ.get("THALWEG_HERMES", "")
WINDOW = 65_536
"""Hermes accepts no model with a smaller one than 64,000."""
ASKED, CALLS = 12, 4
CONFIG = f"""
context: {{engine: thalweg}}
plugins: {{enabled: [thalweg]}}
model: {{context_length: {WINDOW}}}
"""
AGENT = """
import sys
from run_agent import AIAgent

agent = AIAgent(
    base_url=sys.argv[1], api_key="x", model="gpt-5.1", provider="custom", max_tokens=4096,
    api_mode="chat_completions", quiet_mode=True, enabled_toolsets=["terminal", "context_engine"],
    skip_memory=True, skip_context_files=True,
)
assert agent.context_compressor.name == "thalweg", agent.context_compressor.name
assert "recall" in agent.valid_tool_names
history = []
for number in range(int(sys.argv[2])):
    asked = f"question {number}: what is there?"
    done = agent.run_conversation(asked, conversation_history=history)
    history = done["messages"]
agent.context_compressor.on_session_end(agent.session_id, history)
"""
PRINTS = "print(*[f'{n} {k}: gauge {k * 31 % 997} reads {k * n}' for k in range(150)], sep=chr(10))"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON, reason="THALWEG_HERMES names no Python with Hermes Agent"),
]


def _answer(request: Request) -> Answer:
    number = request.number
    if number % (CALLS + 1) == CALLS:
        return Answer(f"That is answer {number}.")
    command = f'{sys.executable} -c "n = {number}; {PRINTS}"'
    return Answer("I look there.", calls=(("terminal", {"command": command}),))


def test_a_long_thread(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(CONFIG, encoding="utf-8")
    home = {"HERMES_HOME": str(tmp_path), "HOME": str(tmp_path), "THALWEG_HOME": str(tmp_path)}
    with StrictProvider(window=WINDOW, answer=_answer) as provider:
        done = subprocess.run(
            [PYTHON, "-c", AGENT, provider.openai_url, str(ASKED)],
            env={**os.environ, **home, "OPENAI_API_KEY": "x"},
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-2_000:]
    sizes = [seen.tokens for seen in provider.requests]
    assert [seen.problems for seen in provider.requests if seen.status != 200] == []
    assert (len(sizes), max(sizes) < WINDOW) == (ASKED * (CALLS + 1), True)
    with open_archive(tmp_path / "thalweg.db") as archive:
        (thread,) = archive.threads("local")
        key = ThreadKey("local", thread)
        log = archive.messages(key, 0, archive.length(key) - 1)
    asked = [m.text for m in log if m.is_request]
    assert asked == [f"question {k}: what is there?" for k in range(ASKED)]
    results = Counter(m.text for m in log if m.role == "tool")
    assert (len(results), set(results.values())) == (ASKED * CALLS, {1})
