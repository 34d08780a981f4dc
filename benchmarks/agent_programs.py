"""Run the coding agents that people use against a loopback model, and compare their logs.

    THALWEG_HOSTS=folder uv run python -m benchmarks.agent_programs [PROGRAM …]

`node_modules/.bin` below the folder has the programs, from npm; those that are not there are left
out. Each has two sessions in a home of its own: one with Unicode, thoughts, calls of which some
fail, an unknown tool, an image and a large result; one with a subagent, a refused call and a
context that is nearly full. Their logs are found and imported as a person's are. A line a log has
the numbers of `benchmarks.agent_logs`; the last line of a session has what the model sent that a
file of the program has and the archive has not. The exit code is the number of sessions with a
difference.
"""

import base64
import http.server
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.agent_logs import compare, threads_of
from thalweg.archive import ThreadKey, open_archive
from thalweg_recorder import import_sessions, list_sessions
from thalweg_recorder.recordings import read_recording
from thalweg_recorder.recordings.agents import Machine
from thalweg_recorder.recordings.sessions import coding_sessions

HOSTS = Path(os.environ.get("THALWEG_HOSTS") or "/nowhere")
TIMEOUT_S = 280
WIDE = "鷺🐦 é"
DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
Json = dict[str, Any]
_NUMBERS = itertools.count(1)


class Model(http.server.ThreadingHTTPServer):
    """A model that answers with the next answer, on the wires of three providers."""

    daemon_threads = True

    def __init__(self, answers: Sequence[Json]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers, self.lock = iter(answers), threading.Lock()
        self.sent: list[Json] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Its address on this machine."""
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, body: Json) -> Json:
        """Return the next answer; a request without tools, such as for a title, has its own."""
        with self.lock:
            if not body.get("tools"):
                return {"text": "A title"}
            answer: Json = next(self.answers, {"text": "All done."})
            calls: list[Json] = [
                {**call, "id": f"call_{next(_NUMBERS)}"} for call in answer.get("calls", ())
            ]
            self.sent.append({**answer, "calls": calls})
            return self.sent[-1]


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Model

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        self._reply({"data": [{"id": "m1", "object": "model"}], "object": "list"})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        if "count" in self.path.lower():
            self._reply({"input_tokens": len(raw) // 4, "totalTokens": len(raw) // 4})
            return
        body = json.loads(raw)
        answer = self.server.answer(body)
        path, tokens = self.path.partition("?")[0], answer.get("usage", len(raw) // 4)
        wires: dict[str, Callable[[Json, Json, int], tuple[Json, list[Json]]]] = {
            "/responses": _responses,
            "/messages": _messages,
            "/completions": _completions,
        }
        wire = next((wires[end] for end in wires if path.endswith(end)), _gemini)
        whole, events = wire(body, answer, tokens)
        if not (body.get("stream") or "stream" in path):
            self._reply(whole)
            return
        heads = (f"event: {one['type']}\n" if "type" in one else "" for one in events)
        lines = [
            f"{head}data: {json.dumps(one)}\n\n" for head, one in zip(heads, events, strict=True)
        ]
        lines += ["data: [DONE]\n\n"] if wire is _completions else []
        self._send("text/event-stream", "".join(lines))

    def _reply(self, value: Json) -> None:
        self._send("application/json", json.dumps(value))

    def _send(self, kind: str, text: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())


def _messages(body: Json, answer: Json, tokens: int) -> tuple[Json, list[Json]]:
    """Answer on the wire of Anthropic's Messages."""
    blocks: list[tuple[Json, Json, Json]] = []
    if thought := answer.get("thought"):
        delta = {"type": "thinking_delta", "thinking": thought}
        head = {"type": "thinking", "signature": "c2ln"}
        blocks.append(({**head, "thinking": ""}, delta, {**head, "thinking": thought}))
    if text := answer.get("text"):
        whole = {"type": "text", "text": text}
        blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": text}, whole))
    for call in answer.get("calls", ()):
        head = {"type": "tool_use", "id": call["id"], "name": call["name"]}
        text = json.dumps(call["arguments"])
        delta = {"type": "input_json_delta", "partial_json": text}
        blocks.append(({**head, "input": {}}, delta, {**head, "input": call["arguments"]}))
    stop = "tool_use" if answer.get("calls") else "end_turn"
    message: Json = {
        "id": f"msg_{next(_NUMBERS)}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": tokens, "output_tokens": 20},
    }
    events: list[Json] = [{"type": "message_start", "message": message}]
    for index, (head, delta, _) in enumerate(blocks):
        place = {"index": index}
        events.append({"type": "content_block_start", **place, "content_block": head})
        events.append({"type": "content_block_delta", **place, "delta": delta})
        events.append({"type": "content_block_stop", **place})
    ended = {"stop_reason": stop, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ended, "usage": {"output_tokens": 20}})
    events.append({"type": "message_stop"})
    return {**message, "content": [one[2] for one in blocks], "stop_reason": stop}, events


def _responses(body: Json, answer: Json, tokens: int) -> tuple[Json, list[Json]]:
    """Answer on the wire of OpenAI's Responses."""
    output: list[Json] = []
    if thought := answer.get("thought"):
        summary = [{"type": "summary_text", "text": thought}]
        output.append({"type": "reasoning", "id": f"rs_{next(_NUMBERS)}", "summary": summary})
    if text := answer.get("text"):
        content = [{"type": "output_text", "text": text, "annotations": []}]
        about = {"id": f"msg_{next(_NUMBERS)}", "role": "assistant", "status": "completed"}
        output.append({"type": "message", **about, "content": content})
    for call in answer.get("calls", ()):
        about = {"call_id": call["id"], "name": call["name"], "status": "completed"}
        text = json.dumps(call["arguments"])
        about["id"] = f"fc_{next(_NUMBERS)}"
        output.append({"type": "function_call", **about, "arguments": text})
    usage = {
        "input_tokens": tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens + 20,
    }
    whole = {
        "id": f"resp_{next(_NUMBERS)}",
        "object": "response",
        "status": "completed",
        "model": body.get("model"),
        "output": output,
        "usage": usage,
    }
    begun = {**whole, "status": "in_progress", "output": []}
    events: list[Json] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(output):
        place = {"output_index": index, "item": item}
        events.append({"type": "response.output_item.added", **place})
        events.append({"type": "response.output_item.done", **place})
    return whole, [*events, {"type": "response.completed", "response": whole}]


def _completions(body: Json, answer: Json, tokens: int) -> tuple[Json, list[Json]]:
    """Answer on the wire of OpenAI's Chat Completions."""
    message: Json = {"role": "assistant", "content": answer.get("text")}
    if thought := answer.get("thought"):
        message["reasoning_content"] = thought
    if calls := answer.get("calls"):
        functions = (
            {"name": one["name"], "arguments": json.dumps(one["arguments"])} for one in calls
        )
        message["tool_calls"] = [
            {"index": index, "id": one["id"], "type": "function", "function": function}
            for index, (one, function) in enumerate(zip(calls, functions, strict=True))
        ]
    ended = "tool_calls" if calls else "stop"
    usage = {"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20}
    base = {"id": f"chatcmpl-{next(_NUMBERS)}", "created": 1, "model": body.get("model")}
    whole = {"index": 0, "finish_reason": ended, "message": message}
    chunk = {**base, "object": "chat.completion.chunk"}
    events = [
        {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": ended}]},
        {**chunk, "choices": [], "usage": usage},
    ]
    return {**base, "object": "chat.completion", "choices": [whole], "usage": usage}, events


def _gemini(_: Json, answer: Json, tokens: int) -> tuple[Json, list[Json]]:
    """Answer on the wire of Gemini."""
    thought, text = answer.get("thought"), answer.get("text")
    parts: list[Json] = [{"text": thought, "thought": True}] if thought else []
    parts += [{"text": text}] if text else []
    for call in answer.get("calls", ()):
        known = {"id": call["id"], "name": call["name"], "args": call["arguments"]}
        parts.append({"functionCall": known})
    content = {"role": "model", "parts": parts}
    usage = {"promptTokenCount": tokens, "candidatesTokenCount": 20, "totalTokenCount": tokens + 20}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    whole = {"candidates": [candidate], "usageMetadata": usage}
    return whole, [whole]


@dataclass(frozen=True, slots=True)
class Program:
    """How one coding agent is started, and the names of its tools."""

    agent: str
    """Its name in `agents.toml`."""
    start: Sequence[str]
    """Its command with `{url}`, without the prompt, which is its last argument."""
    careful: Sequence[str]
    """Arguments that have a shell call refused."""
    free: Sequence[str]
    """Arguments of its other runs."""
    resume: Sequence[str]
    shell: Callable[[str], Json]
    read: Callable[[str], Json]
    image: Callable[[str], Json]
    ask: Callable[[str], Json] | None = None
    """A call of a subagent; `None` without subagents."""
    full: int = 58_000
    """Tokens of its nearly full context."""
    variables: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    """Configuration, below its home folder, with `{url}`."""
    compact: str = "And now, after much?"
    """The prompt at which it compacts."""


def _call(tool: str, /, **arguments: object) -> Json:
    return {"name": tool, "arguments": arguments}


def _named(tool: str, key: str, /, **more: object) -> Callable[[str], Json]:
    return lambda value: _call(tool, **{key: value}, **more)


_CHAT_MODEL = {"id": "m1", "name": "m1", "reasoning": True, "input": ["text", "image"]}
_PI = {
    "baseUrl": "{url}/v1",
    "api": "openai-completions",
    "apiKey": "x",
    "models": [{**_CHAT_MODEL, "contextWindow": 60_000, "maxTokens": 4_000}],
}
_OPENCODE = {
    "$schema": "https://opencode.ai/config.json",
    "model": "stub/m1",
    "permission": {"bash": {"touch *": "deny"}, "external_directory": "allow"},
    "provider": {
        "stub": {
            "npm": "@ai-sdk/anthropic",
            "name": "stub",
            "options": {"baseURL": "{url}/v1", "apiKey": "x"},
            "models": {
                "m1": {
                    "name": "m1",
                    "attachment": True,
                    "modalities": {"input": ["text", "image"], "output": ["text"]},
                    "limit": {"context": 100_000, "output": 4_000},
                }
            },
        }
    },
}
_DROID = {
    "model": "m1",
    "displayName": "m1",
    "baseUrl": "{url}/v1",
    "apiKey": "x",
    "provider": "generic-chat-completion-api",
    "maxOutputTokens": 4_000,
}
_CODEX = """\
model = "gpt-5"
model_provider = "stub"
model_auto_compact_token_limit = 50000
[model_providers.stub]
name = "stub"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "STUB_KEY"
"""
_KIMI = """\
default_model = "m1"
[models.m1]
provider = "stub"
model = "m1"
max_context_size = 200000
capabilities = ["thinking", "image_in"]
[providers.stub]
type = "openai"
base_url = "{url}/v1"
api_key = "x"
"""
PROGRAMS = {
    "claude": Program(
        agent="claude-code",
        start=["-p"],
        careful=[],
        free=["--allowedTools=Bash,Read,Agent"],
        resume=["--continue"],
        shell=_named("Bash", "command", description="run"),
        read=_named("Read", "file_path"),
        image=_named("Read", "file_path"),
        ask=_named("Agent", "prompt", description="cranes", subagent_type="general-purpose"),
        variables={
            "ANTHROPIC_BASE_URL": "{url}",
            "ANTHROPIC_API_KEY": "x",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
        compact="/compact",
    ),
    "codex": Program(
        agent="codex",
        start=["exec", "--skip-git-repo-check"],
        careful=[],
        free=["--dangerously-bypass-approvals-and-sandbox"],
        resume=["resume", "--last"],
        shell=_named("exec_command", "cmd"),
        read=lambda path: _call("exec_command", cmd=f"cat {path}"),
        image=_named("view_image", "path"),
        variables={"STUB_KEY": "x"},
        files={".codex/config.toml": _CODEX},
    ),
    "gemini": Program(
        agent="gemini-cli",
        start=["--skip-trust", "-m", "gemini-2.5-pro"],
        careful=[],
        free=["-y"],
        resume=["--resume", "latest"],
        shell=_named("run_shell_command", "command", description="run"),
        read=_named("read_file", "file_path"),
        image=_named("read_file", "file_path"),
        ask=_named("invoke_agent", "prompt", agent_name="generalist"),
        full=1_000_000,
        variables={"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": "{url}"},
        files={
            ".gemini/settings.json": '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'
        },
    ),
    "qwen": Program(
        agent="qwen-code",
        start=[
            *("--auth-type", "openai", "--openai-api-key", "x", "-m", "m1"),
            *("--openai-base-url", "{url}/v1"),
        ],
        careful=[],
        free=["-y"],
        resume=["--continue"],
        shell=_named("run_shell_command", "command", description="run", is_background=False),
        read=_named("read_file", "file_path"),
        image=_named("read_file", "file_path"),
        ask=_named("agent", "prompt", description="cranes", subagent_type="general-purpose"),
        full=180_000,
    ),
    "opencode": Program(
        agent="opencode",
        start=["run"],
        careful=[],
        free=[],
        resume=["--continue"],
        shell=_named("bash", "command", description="run"),
        read=_named("read", "filePath"),
        image=_named("read", "filePath"),
        ask=_named("task", "prompt", description="cranes", subagent_type="general"),
        full=99_000,
        variables={"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"},
        files={".config/opencode/opencode.json": json.dumps(_OPENCODE)},
    ),
    "copilot": Program(
        agent="copilot-cli",
        start=["--allow-all-tools", "--allow-all-paths"],
        careful=["--deny-tool=shell(touch)"],
        free=[],
        resume=["--continue"],
        shell=_named("bash", "command", description="run", initial_wait=10),
        read=_named("view", "path"),
        image=_named("view", "path"),
        ask=_named("task", "prompt", name="cranes", description="cranes", agent_type="task"),
        variables={
            "COPILOT_PROVIDER_BASE_URL": "{url}/v1",
            "COPILOT_MODEL": "m1",
            "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "60000",
            "COPILOT_OFFLINE": "true",
        },
    ),
    "pi": Program(
        agent="pi",
        start=["--provider", "stub", "--model", "m1"],
        careful=[],
        free=[],
        resume=["--continue"],
        shell=_named("bash", "command"),
        read=_named("read", "path"),
        image=_named("read", "path"),
        variables={"PI_OFFLINE": "1"},
        files={".pi/agent/models.json": json.dumps({"providers": {"stub": _PI}})},
    ),
    "kimi": Program(
        agent="kimi-code",
        start=[],
        careful=[],
        free=[],
        resume=["--continue"],
        shell=_named("Bash", "command"),
        read=_named("Read", "path"),
        image=_named("ReadMediaFile", "path"),
        ask=_named("Agent", "prompt", description="cranes"),
        full=190_000,
        files={".kimi-code/config.toml": _KIMI},
    ),
    "droid": Program(
        agent="droid",
        start=["exec", "-m", "custom:m1"],
        careful=["--auto", "low"],
        free=["--auto", "high"],
        resume=[],  # it continues no session of a model of one's own: each prompt has its own
        shell=_named("Execute", "command", summary="run", riskLevelReason="none", riskLevel="low"),
        read=_named("Read", "file_path"),
        image=_named("Read", "file_path"),
        ask=_named("Task", "prompt", description="cranes", subagent_type="worker"),
        variables={"FACTORY_API_KEY": "fk-x"},
        files={".factory/settings.json": json.dumps({"customModels": [_DROID]})},
    ),
}
_PROMPT_FLAG = frozenset({"gemini", "qwen", "copilot", "pi", "kimi"})
"""Programs that take the prompt after `-p`."""
Turns = list[tuple[str, bool, list[Json]]]
"""Each prompt, whether a call of it is refused, and the model's answers."""


def first_session(program: Program, work: Path) -> Turns:
    """Calls that fail, an unknown tool, an image, a large result, Unicode."""
    echo = program.shell(f"echo 'heron one {WIDE} has ring HR-1'")
    missing = [program.shell("cat /nope/none.txt"), program.read(f"{work}/missing-file.txt")]
    unknown = _call("no_such_tool", x=1)
    return [
        (
            f"Count bank one {WIDE}, and look at the image",
            False,
            [
                {"thought": "I should count.", "text": f"Counting {WIDE}.", "calls": [echo]},
                {"text": "Counted bank one, now two files.", "calls": missing},
                {"calls": [unknown]},
                {"thought": "An image next.", "calls": [program.image(f"{work}/dot.png")]},
                {"calls": [program.shell("seq 1 9000")]},
                {"text": "It is a dot, and the numbers are many."},
            ],
        )
    ]


def second_session(program: Program, _: Path) -> Turns:
    """A subagent, a refused call, a context that is nearly full."""
    crane = {"calls": [program.shell("echo 'the crane has ring CR-9'")]}
    delegation: list[Json] = (
        [{"text": "I ask.", "calls": [program.ask("Report on cranes")]}] if program.ask else []
    )
    reported = {"text": "The report on the crane: CR-9."}
    done = _call("complete_task", result="The report on the crane: CR-9.")
    by_task = program.agent == "gemini-cli"
    report: list[Json] = (
        [crane, {"calls": [done]} if by_task else reported] if delegation else [crane]
    )
    refused: list[Json] = [
        {"calls": [program.shell("touch refused-file")]},
        {"text": "That was refused, I think.", "usage": program.full},
    ]
    after: list[Json] = [{"text": f"After much, turn {turn}."} for turn in range(4)]
    return [
        (
            "Ask an agent about cranes",
            False,
            [*delegation, *report, {"text": "I have the report on cranes."}],
        ),
        ("Do what is forbidden", True, refused),
        (program.compact, False, after),
    ]


def main(names: Sequence[str]) -> int:
    """Print a line for each log of each program; return how many sessions have a difference."""
    different = 0
    for name in names or PROGRAMS:
        if not (HOSTS / "node_modules" / ".bin" / name).exists():
            sys.stdout.write(f"{name}: not in the folder\n")
            continue
        for session in (first_session, second_session):
            with tempfile.TemporaryDirectory(prefix=f"{name}-") as folder:
                different += bool(_run(name, session, Path(folder)))
    return different


def _run(name: str, session: Callable[[Program, Path], Turns], home: Path) -> int:
    """Have a program write a session; return the number of differences in what was imported."""
    program, work = PROGRAMS[name], home / "work"
    work.mkdir()
    (work / "dot.png").write_bytes(DOT)
    model = Model([])
    for file, text in program.files.items():
        (home / file).parent.mkdir(parents=True, exist_ok=True)
        (home / file).write_text(text.replace("{url}", model.url))
    variables = {key: one.replace("{url}", model.url) for key, one in program.variables.items()}
    own = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}
    environment = {**own, "HOME": str(home), "PWD": str(work), "TERM": "dumb", **variables}
    start = [part.replace("{url}", model.url) for part in program.start]
    for turn, (prompt, is_refused, answers) in enumerate(session(program, work)):
        model.answers = iter(answers)
        command = [
            str(HOSTS / "node_modules" / ".bin" / name),
            *start,
            *(program.resume if turn else ()),
            *(program.careful if is_refused else program.free),
            *(["-p"] if name in _PROMPT_FLAG else ()),
            prompt,
        ]
        try:
            ended: object = subprocess.run(  # noqa: S603 (the programs under test)
                command,
                cwd=work,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TIMEOUT_S,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            ended = f"no end within {TIMEOUT_S} s"
        if ended:
            sys.stdout.write(f"{name}: {prompt!r}: {ended}\n")
    model.shutdown()
    return _compared(name, home, model.sent)


def _compared(name: str, home: Path, sent: Sequence[Json]) -> int:
    """Print what is read of each log, and what of the model's answers is in a file alone."""
    logs = coding_sessions(Machine(home, {}), subagents=True)
    different = 0
    for log in sorted(logs):
        line, is_different = compare(log)
        different += is_different
        sys.stdout.write(f"{name:<9}{line}\n")
    with open_archive(":memory:") as archive:
        imported = [*import_sessions(archive, logs)]
        different += sum(bool(one.error) for one in imported)
        threads = [ThreadKey("local", thread) for thread, _ in list_sessions(archive)]
        messages = [one for key in threads for one in archive.messages(key)]
    recordings = [one for log in logs for one in threads_of(read_recording(log))]
    summaries = [one.summary for thread in recordings for one in thread.compactions]
    everything = "\n".join([*(one.text for one in messages), *summaries])
    calls = {call.id for one in messages for call in one.calls}
    files = b"".join(file.read_bytes() for file in home.rglob("*") if file.is_file())
    texts = [one["text"] for one in sent if one.get("text")]
    lost = [text for text in texts if text.encode() in files and text not in everything]
    ids = [call["id"] for one in sent for call in one["calls"]]
    # Gemini CLI puts the tool's name before an id.
    lost += [own for own in ids if not any(one == own or one.endswith(f"_{own}") for one in calls)]
    total = sum(len(one["calls"]) + bool(one.get("text")) for one in sent)
    sys.stdout.write(
        f"{name:<9}sent {total} texts and calls; in files, not in the archive: {lost}\n"
    )
    sys.stdout.flush()
    return different + len(lost)


if __name__ == "__main__":
    raise SystemExit(min(main(sys.argv[1:]), 100))
