"""A stranger with a key of their own tries to reach what is another's, or outside.

Run `python -m benchmarks.gateway_fuzz --tries 10000`. Every operation of the OpenAPI document is
tried with hostile ids, paths, names, bodies and headers, and with the ids that another owner's
things really have. Nothing of the other's may be disclosed, and at the end all of it, and every
file around the gateway's own folder, is as it was.
"""

import argparse
import asyncio
import hashlib
import json
import random
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, unquote_to_bytes

from starlette.types import ASGIApp, Message

from thalweg_memory import Memory
from thalweg_server.api.runs import NewRun
from thalweg_server.api.threads import NewThread
from thalweg_server.app import App, Tenant, open_app
from thalweg_server.gateway import create_app
from thalweg_server.settings import Settings

TRIES = 10_000
OUTSIDE = f"outside-{secrets.token_hex(12)}"
"""Words in files next to the gateway's folder."""
THEIRS = f"theirs-{secrets.token_hex(12)}"
"""Words in everything of the other owner."""
_KEYS = [{"key": "mine", "owner": "mallory"}, {"key": "theirs", "owner": "bob"}]
_UNLIMITED = {"requests_per_minute": None, "runs_per_minute": None, "runs_at_once": None}
"""A refusal for too many requests would hide what the route does."""
_RARE = frozenset({"start_run", "stream"})
"""Each of these has an agent run."""
_CLIMBS = (
    "../", "..\\", "%2e%2e/", "%2e%2e%2f", "..%2f", "%252e%252e%252f", "....//", "..;/", "/./",
    "..%c0%af", "..%00/", "%5c..%5c", "\u2025/", "\uff0e\uff0e/",
)  # fmt: skip
_ODD = (
    *("", ".", "..", "/", "//", "\x00", "a\x00b", "%00", "%", "%zz", "\n", "\r\nX: y", " ", "~"),
    *("*", "?", "#", "con", "nul", "a" * 129, "a" * 5_000, "-1", "0", "1e9", str(2**63), "null"),
    *("' OR 1=1 --", '"; DROP TABLE runs; --', "\u202e", "\u4e0a\u4e0b\u6587", "\U0001f600", "{}"),
    *("local", "bob", "mallory", "bob/t1", "t1", "..t1", "t1/../t1", "file:///etc/passwd"),
    *("$HOME", "None", "[]", "C:\\", "\\\\h\\s"),
)


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the document."""

    name: str
    method: str
    path: str
    has_body: bool
    queries: tuple[str, ...]
    examples: tuple[object, ...]


@dataclass
class Told:
    """What came of it all."""

    tries: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


class World:
    """A gateway with two owners, and files next to it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.ids: list[str] = []
        self.paths: list[str] = []

    def settings(self) -> Settings:
        """Keys for both, a model that ticks, and files on the disk: there a path could climb."""
        model = {
            "name": "ticking",
            "use": "core_tests.ticking:TickingModel",
            "rate": 1_000,
            "ticks": 2,
        }
        files = self.home / "files"
        return Settings.from_mapping(
            {
                "models": [{**model, "window": 32_000}],
                "gateway": {"keys": _KEYS, "limits": _UNLIMITED},
                "storage": {"files": str(files)},
            }
        )

    def surround(self) -> None:
        """Lay files around the gateway's folder."""
        for name in (
            "secret.txt",
            "outside/secret.txt",
            "home/secret.txt",
            "home/files/secret.txt",
        ):
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(OUTSIDE)

    def around(self) -> dict[str, str]:
        """Return the hash of every file that is not the gateway's own."""
        own = {"thalweg.db", "runs.db"}
        found = {}
        for path in sorted(self.root.rglob("*")):
            name = path.relative_to(self.root)
            is_own = name.parts[0] == "home" and (
                any(name.name.startswith(one) for one in own)
                or (name.parts[1:2] == ("files",) and name.name != "secret.txt")
            )
            if path.is_file() and not (is_own or name.name.endswith((".lock", ".sqlite"))):
                found[str(name)] = hashlib.sha256(path.read_bytes()).hexdigest()
        return found

    async def furnish(self, bob: Tenant) -> None:
        """Create some of everything for the other owner."""
        for name in ("t1", "secret-plans"):
            await bob.threads.create(NewThread(id=name, title=THEIRS))
            run = await bob.runs.start(name, NewRun(id=f"run-of-{name}", message=THEIRS))
            await bob.runs.wait(name, run.id, 30)
            upload = await bob.files.upload(name, "notes.md", THEIRS.encode())
            self.ids += [name, run.id, upload.name]
            self.paths += [upload.path, f"../{name}{upload.path}", f"../../bob/{name}{upload.path}"]
        fact = await bob.memory.ask(Memory.remember, f"Bob knows {THEIRS}")
        self.ids += [fact.id, "1", "2"]


async def state(bob: Tenant) -> str:
    """Hash all that the other owner has."""
    threads = (await bob.threads.list(limit=1_000)).items
    told: list[object] = [
        await bob.memory.ask(Memory.export),
        await bob.memory.ask(Memory.history, limit=1_000),
    ]
    for thread in threads:
        told += [thread, await bob.threads.history(thread.id), await bob.runs.list(thread.id)]
        uploads = await bob.files.uploads(thread.id)
        artifacts = await bob.files.artifacts(thread.id)
        told += [uploads, artifacts]
        told += [await bob.files.read(thread.id, each.path) for each in uploads]
    return hashlib.sha256(repr(told).encode()).hexdigest()


def operations(document: Mapping[str, Any]) -> list[Operation]:
    """Read the operations of an OpenAPI document."""
    found = []
    for path, item in document["paths"].items():
        for method, told in item.items():
            queries = [p["name"] for p in told.get("parameters", ()) if p["in"] == "query"]
            body = told.get("requestBody", {}).get("content", {}).get("application/json", {})
            named = [each["value"] for each in body.get("examples", {}).values()]
            examples = (*named, *body.get("schema", {}).get("examples", ()))
            name, has_body = told["operationId"], "requestBody" in told
            found.append(Operation(name, method.upper(), path, has_body, tuple(queries), examples))
    return found


class Stranger:
    """Makes up requests."""

    def __init__(self, dice: random.Random, world: World) -> None:
        self._dice = dice
        self._world = world

    def word(self) -> str:
        """Make up an id, a name or a path."""
        dice = self._dice
        kind = dice.random()
        if kind < 0.35:  # noqa: PLR2004 (shares)
            return dice.choice(self._world.ids)
        if kind < 0.55:  # noqa: PLR2004
            climb = dice.choice(_CLIMBS) * dice.randint(1, 8)
            targets = ("secret.txt", "outside/secret.txt", "etc/passwd", *self._world.paths)
            start = dice.choice(("", "/", "uploads/", "t1/", str(self._world.root)))
            return start + climb + dice.choice(targets)
        if kind < 0.7:  # noqa: PLR2004
            return dice.choice([str(self._world.root / "secret.txt"), *self._world.paths])
        if kind < 0.9:  # noqa: PLR2004
            return dice.choice(_ODD)
        return "".join(
            chr(dice.choice((dice.randrange(256), dice.randrange(0xD800)))) for _ in range(9)
        )

    def path(self, operation: Operation) -> bytes:
        """Fill a path in: encoded as a client would, twice, half, or not at all."""
        path = operation.path
        while "{" in path:
            before, _, rest = path.partition("{")
            _, _, after = rest.partition("}")
            word, how = self.word(), self._dice.random()
            if how < 0.5:  # noqa: PLR2004 (shares)
                word = quote(word, safe="", errors="replace")
            elif how < 0.7:  # noqa: PLR2004
                word = quote(word, safe="/%", errors="replace")
            elif how < 0.8:  # noqa: PLR2004
                word = quote(quote(word, safe="", errors="replace"), safe="")
            path = (
                f"{before}{word.replace('{', '%7B').replace('?', '%3F').replace('#', '%23')}{after}"
            )
        return path.encode("utf-8", "replace")

    def value(self, depth: int = 3) -> object:
        """Make up JSON."""
        dice = self._dice
        kinds: list[Callable[[], object]] = [
            self.word, lambda: dice.choice((None, True, False, 0, -1, 2**31, 2**63, 10**30, 1e308)),
        ]  # fmt: skip
        if depth:
            kinds.append(lambda: [self.value(depth - 1) for _ in range(dice.randint(0, 3))])
            kinds.append(lambda: self.body(depth - 1))
        return dice.choice(kinds)()

    def body(self, depth: int = 3) -> dict[str, object]:
        """Make up an object with keys that mean something."""
        names = self._dice.sample(_NAMES, self._dice.randint(1, 4))
        return {name: self.value(depth) for name in names}

    def form(self) -> tuple[str, bytes]:
        """Make up files with names that lead elsewhere."""
        parts = []
        for _ in range(self._dice.randint(1, 3)):
            name = self.word().replace('"', "'").replace("\r", "").replace("\n", "")
            head = f'--x\r\nContent-Disposition: form-data; name="files"; filename="{name}"'
            content = self._dice.choice(
                ("text", "%PDF-1.7", "<script>", "\x7fELF", "PK\x03\x04", "")
            )
            parts.append(f"{head}\r\n\r\n{content}\r\n".encode("utf-8", "replace"))
        return "multipart/form-data; boundary=x", b"".join(parts) + b"--x--\r\n"

    def request(self, operation: Operation) -> "Request":
        """Make up a request of an operation."""
        dice = self._dice
        headers = {"x-api-key": "mine", "host": "localhost", "x-owner": "bob", "x-user": "bob"}
        if dice.random() < 0.2:  # noqa: PLR2004 (a share)
            headers |= {"range": self.word()[:100], "last-event-id": self.word()[:50]}
        body = b""
        if operation.name == "upload_file":
            headers["content-type"], body = self.form()
        elif operation.has_body:
            headers["content-type"] = "application/json"
            like = operation.examples and dice.random() < 0.7  # noqa: PLR2004 (a share)
            said = self.like(dice.choice(operation.examples)) if like else self.body()
            body = json.dumps(said).encode()
        return self._sent(operation, headers, body)

    def like(self, example: object) -> object:
        """Make an example another: most of it as it was, so that much of it comes in."""
        if isinstance(example, dict):
            return {name: self.like(value) for name, value in example.items()}
        if isinstance(example, list):
            return [self.like(value) for value in example]
        return self.word() if self._dice.random() < 0.4 else example  # noqa: PLR2004 (a share)

    def _sent(self, operation: Operation, headers: Mapping[str, str], body: bytes) -> "Request":
        dice = self._dice
        queries = {name: self.word()[:200] for name in operation.queries if dice.random() < 0.4}  # noqa: PLR2004
        query = "&".join(
            f"{name}={quote(word, errors='replace')}" for name, word in queries.items()
        )
        return Request(operation.method, self.path(operation), f"{query}&owner=bob", headers, body)


_NAMES = (
    *("id", "title", "message", "messages", "resume", "model", "memory", "if_busy", "content"),
    *("category", "confidence", "facts", "words", "threads", "everything", "accept", "turn"),
    *("position", "quote", "mode", "owner", "thread", "run", "path", "files", "role", "version"),
    *("userContext", "history", "lastUpdated"),
)


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent."""

    method: str
    path: bytes
    query: str
    headers: Mapping[str, str]
    body: bytes


async def sent(application: ASGIApp, request: Request) -> tuple[int, bytes]:
    """Send a request past the server, its path decoded as uvicorn does."""
    answers: list[Message] = []
    is_read = False

    async def receive() -> Message:
        nonlocal is_read
        if is_read:
            await asyncio.sleep(3_600)
        is_read = True
        return {"type": "http.request", "body": request.body, "more_body": False}

    async def send(message: Message) -> None:
        answers.append(message)

    headers = {**request.headers, "content-length": str(len(request.body))}
    raw = [(k.encode(), v.encode("latin-1", "replace")) for k, v in headers.items()]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http",
        "method": request.method, "path": unquote(request.path.decode("ascii", "replace")),
        "raw_path": unquote_to_bytes(request.path), "query_string": request.query.encode(),
        "root_path": "", "headers": raw, "client": ("10.0.0.7", 1), "server": ("gateway", 80),
        "state": {},
    }  # fmt: skip
    try:
        await asyncio.wait_for(application(scope, receive, send), 30)
    except TimeoutError:
        return 0, b"it hangs"
    except Exception as error:  # noqa: BLE001 (a bug is what is looked for)
        return 500, repr(error).encode()
    return answers[0]["status"], b"".join(each.get("body", b"") for each in answers[1:])


async def fuzz(tries: int, seed: int, *, says: Callable[[str], None] = lambda _: None) -> Told:
    """Try, and return what came of it."""
    told = Told()
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder).resolve())  # noqa: ASYNC240 (once)
        world.surround()
        async with open_app(world.settings(), home=world.home) as app:
            await _tried(app, world, tries, seed, told, says)
    return told


async def _tried(
    app: App, world: World, tries: int, seed: int, told: Told, says: Callable[[str], None]
) -> None:
    application = create_app(app)
    bob = app.tenant("bob")
    await world.furnish(bob)
    for name in ("t1", "mine"):  # one of them is called as another of the other's
        await app.tenant("mallory").threads.create(NewThread(id=name))
    world.ids.append("mine")
    before, around = await state(bob), world.around()
    dice = random.Random(seed)  # noqa: S311 (not a secret)
    stranger = Stranger(dice, world)
    every = operations(application.openapi())
    often = [each for each in every if each.name not in _RARE]
    while told.tries < tries:
        operation = dice.choice(every if dice.random() < 0.05 else often)  # noqa: PLR2004 (a share)
        request = stranger.request(operation)
        status, body = await sent(application, request)
        told.tries += 1
        told.statuses[status] += 1
        told.wrong += _wrong(operation, request, status, body)
        if told.tries % 1_000 == 0:
            says(f"{told.tries} tries, {len(told.wrong)} wrong")
    if await state(bob) != before:
        told.wrong.append("something of the other owner was changed")
    if (after := world.around()) != around:
        told.wrong.append(
            f"files outside were changed: {sorted(set(after.items()) ^ set(around.items()))}"
        )


def _wrong(operation: Operation, request: Request, status: int, body: bytes) -> Sequence[str]:
    asked = request.path + request.query.encode() + request.body
    found = []
    if status >= 500 or status == 0:  # noqa: PLR2004 (the gateway's own fault)
        found.append(f"{status}: {body[:300]!r}")
    for name, words in (
        ("another's words", THEIRS),
        ("a file outside", OUTSIDE),
        ("passwd", "root:x:"),
    ):
        if words.encode() in body and words.encode() not in asked:
            found.append(f"{name} are told")
    return [f"{operation.name} {request}: {each}" for each in found]


def main() -> None:
    """Try as often as asked, and end with 1 where anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=TRIES)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6)
    given = parser.parse_args()
    print(f"seed {given.seed}")
    told = asyncio.run(fuzz(given.tries, given.seed, says=print))
    statuses = ", ".join(f"{status}: {count}" for status, count in sorted(told.statuses.items()))
    print(f"{told.tries} tries; answers {statuses}; wrong: {len(told.wrong)}")
    for each in told.wrong[:20]:
        print(f"- {each[:1_000]}")
    sys.exit(bool(told.wrong))


if __name__ == "__main__":
    main()
