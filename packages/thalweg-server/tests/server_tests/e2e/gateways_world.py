"""Gateways as they are served, processes that follow their runs, kills, and what came of it all.

What `server_tests/e2e/runs_world.py` does with processes that perform runs, done with `thalweg
serve` over HTTP: agents, archive, memory and clients included.
"""

import asyncio
import json
import os
import queue
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psycopg
from psycopg import sql

from core_tests import forking
from core_tests.postgres import as_role
from memory_tests.e2e.gateways_models import asking
from thalweg_server.gateway.serving import address_of, bound

SERVED = (
    "thalweg_server.gateway.serving",
    "thalweg_server.app.performing",
    "thalweg.archive.postgres",
    "thalweg_memory.store.postgres",
    "langgraph.checkpoint.postgres.aio",
    "langgraph.checkpoint.sqlite.aio",
    "memory_tests.e2e.gateways_models",
)
"""What gateways import."""
PATIENCE_S = 120.0
THINGS = ("amphora", "brush", "compass", "dynamo", "easel", "flute", "globe", "heron", "inkwell")


@dataclass
class Told:
    """What was seen of one run."""

    owner: str
    thread: str
    run: str
    text: str
    """What was asked."""
    fact: str
    """What memory should learn from it."""
    events: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    is_ended: bool = False
    cuts: int = 0
    """How often no gateway answered."""
    hops: int = 0
    """How often it was followed on at another gateway."""


class Gateway:
    """`thalweg serve` at an address that it comes back to."""

    def __init__(self, name: str, folder: Path, settings: dict[str, Any]) -> None:
        self.name = name
        self._folder = folder
        self._config = folder / f"{name}.yaml"
        with bound("127.0.0.1", 0) as free:
            self.url, self._port = address_of(free), free.getsockname()[1]
        self._config.write_text(json.dumps(settings))  # JSON is YAML
        self.process: forking.Forked | None = None
        self.kills = 0

    def start(self) -> None:
        """Start it."""
        with (self._folder / f"{self.name}.log").open("ab") as log:
            self.process = forking.start(
                "thalweg",
                *("serve", "--config", self._config, "--port", self._port),
                *("--log-level", "warning"),
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env={**os.environ, "THALWEG_TOLD": str(self._folder)},
                imports=SERVED,
            )

    def wait_ready(self) -> None:
        """Wait until it answers, and all its parts are well."""
        patience = time.monotonic() + PATIENCE_S
        while True:
            assert self.process is not None
            assert self.process.poll() is None, self.log()
            with suppress(httpx2.HTTPError):
                if httpx2.get(f"{self.url}/healthz", timeout=10, trust_env=False).is_success:
                    return
            assert time.monotonic() < patience, self.log()
            time.sleep(0.1)

    def kill(self) -> None:
        """End it as a power cut would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(60)
        self.kills += 1

    def stop(self) -> int:
        """End it as a new release does."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def log(self) -> str:
        """Read what it logged."""
        return (self._folder / f"{self.name}.log").read_text()


class Follower:
    """A process that follows runs; see `server_tests/e2e/gateways_client.py`."""

    def __init__(self, urls: Sequence[str], answers: "queue.Queue[dict[str, Any]]") -> None:
        pipe = subprocess.PIPE
        self.process = forking.start(
            "server_tests.e2e.gateways_client", *urls, stdin=pipe, stdout=pipe
        )
        self._answers = answers
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def ask(self, **asked: object) -> None:
        """Have a conversation followed."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()

    def stop(self) -> None:
        """End it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(60)
        self._reader.join(60)
        self.process.stdout.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._answers.put(json.loads(line))


class World:
    """Gateways over one database, and those who follow their runs."""

    def __init__(
        self, folder: Path, gateways: Sequence[Gateway], *, followers: int = 2, owners: int = 10
    ) -> None:
        self.folder = folder
        self.gateways = list(gateways)
        self.owners = [f"owner-{number}" for number in range(owners)]
        self.random = random.Random(7)  # noqa: S311 (moments, the same each time)
        self.runs: dict[str, Told] = {}
        self.errors: list[str] = []
        self._answers: queue.Queue[dict[str, Any]] = queue.Queue()
        urls = [gateway.url for gateway in gateways]
        self.followers = [Follower(urls, self._answers) for _ in range(followers)]
        self._conversations = 0

    def converse(self, runs: int = 2) -> None:
        """Have a user begin a conversation: some runs in one thread, one after the other."""
        number, self._conversations = self._conversations, self._conversations + 1
        owner, thread = self.owners[number % len(self.owners)], f"thread-{number}"
        asked = []
        for _ in range(runs):
            run, thing = f"run-{len(self.runs)}", THINGS[len(self.runs) % len(THINGS)]
            text = asking(thing, str(len(self.runs)), run)
            fact = f"The user keeps the {thing} in drawer {len(self.runs)}."
            self.runs[run] = Told(owner, thread, run, text, fact)
            asked.append({"run": run, "text": text})
        hop = self.random.randint(5, 30) if number % 3 == 0 and len(self.gateways) > 1 else 0
        follower = self.followers[number % len(self.followers)]
        follower.ask(key=f"key-of-{owner}", thread=thread, runs=asked, hop=hop)

    def tend(self, seconds: float) -> None:
        """Process the answers of the followers for some seconds."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            with suppress(queue.Empty):
                self._take(self._answers.get(timeout=left))

    def until_streaming(self, count: int) -> None:
        """Wait until some runs are in the midst of it, and a little longer."""
        patience = time.monotonic() + PATIENCE_S
        while self.streaming < count:
            assert time.monotonic() < patience, f"no run gets going: {self.errors[-3:]}"
            self.tend(0.05)
        self.tend(self.random.uniform(0.0, 1.5))

    def finish(self, patience_s: float = 300.0) -> None:
        """Follow every run to its end."""
        end = time.monotonic() + patience_s
        while self.under_way and time.monotonic() < end and not self.errors:
            self.tend(0.2)

    def kill(self, gateway: Gateway) -> None:
        """Kill a gateway and start it again, while the others go on."""
        gateway.kill()
        gateway.start()
        self.tend(0.5)
        waiting = threading.Thread(target=gateway.wait_ready)
        waiting.start()
        while waiting.is_alive():
            self.tend(0.1)

    @property
    def streaming(self) -> int:
        """How many runs are in the midst of it."""
        return sum(len(told.events) > 3 and not told.is_ended for told in self.runs.values())

    @property
    def under_way(self) -> int:
        """How many runs have not been seen to end."""
        return sum(not told.is_ended for told in self.runs.values())

    def _take(self, answer: dict[str, Any]) -> None:
        told = self.runs[answer["run"]]
        if "error" in answer:
            self.errors.append(f"{told.run}: {answer['error']}")
        elif "seq" in answer:
            told.events.append((answer["seq"], answer["event"]))
        else:
            told.is_ended, told.cuts, told.hops = True, answer["cuts"], answer["hops"]


def settings(folder: Path, owners: int, url: str | None, **model: Any) -> dict[str, Any]:  # noqa: ANN401 (a model's options)
    """Write a config.yaml."""
    names = "memory_tests.e2e.gateways_models"
    storage: dict[str, Any] = {"home": str(folder)}
    return {
        "models": [
            {"name": "noting", "use": f"{names}:Noting", "window": 64_000, **model},
            {"name": "learner", "use": f"{names}:Learner", "window": 64_000},
        ],
        "memory": {
            "model_name": "learner",
            "debounce_seconds": 0.5,
            "max_wait_seconds": 5,
            "profile": False,
        },
        "subagents": {"enabled": False},
        "tools": [{"name": "note", "use": f"{names}:note"}],
        "agent": {"model": "noting"},
        "storage": storage if url is None else {**storage, "url": url},
        "gateway": {
            "keys": [
                {"key": f"key-of-owner-{number}", "owner": f"owner-{number}"}
                for number in range(owners)
            ]
        },
    }


@contextmanager
def world(
    folder: Path,
    url: str | None,
    *,
    gateways: int = 2,
    followers: int = 2,
    owners: int = 10,
    **model: Any,  # noqa: ANN401 (a model's options)
) -> Iterator[World]:
    """Serve, and end all processes."""
    served = []
    for number in range(gateways):
        # Machines share nothing but the server.
        home = folder / (f"home-{number}" if url else "home")
        served.append(Gateway(f"gateway-{number}", folder, settings(home, owners, url, **model)))
    for gateway in served:
        gateway.start()
    made = World(folder, served, followers=followers, owners=owners)
    try:
        for gateway in served:
            gateway.wait_ready()
        yield made
    finally:
        for follower in made.followers:
            follower.stop()
        for gateway in served:
            gateway.stop()


@contextmanager
def roles(admin_url: str) -> Iterator[str]:
    """Create tables as docs/many-machines.md describes; return the address of the serving role."""
    name = admin_url.partition("/thalweg_")[2].partition("?")[0][:12]
    owner, serves = f"owns_{name}", f"serves_{name}"
    with psycopg.connect(admin_url, autocommit=True) as admin:
        for role in (owner, serves):
            admin.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
        database = sql.Identifier(admin.info.dbname)
        to = sql.Identifier(owner)
        admin.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(database, to))
        admin.execute(sql.SQL("GRANT ALL ON SCHEMA public TO {}").format(to))
    try:
        env = {**os.environ, "THALWEG_DATABASE_URL": as_role(admin_url, owner)}
        command, null = ("db", "upgrade", "--role", serves), subprocess.DEVNULL
        with forking.start("thalweg", *command, env=env, stdout=null) as process:
            assert process.wait() == 0
        yield as_role(admin_url, serves)
    finally:
        with psycopg.connect(admin_url, autocommit=True) as admin:
            for role in (owner, serves):
                admin.execute(
                    sql.SQL("REASSIGN OWNED BY {} TO CURRENT_USER").format(sql.Identifier(role))
                )
                admin.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(role)))
                admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


def found(made: World) -> "Any":  # noqa: ANN401 (see there)
    """Look at what came of every run; see `server_tests/e2e/gateways_findings.py`."""
    from server_tests.e2e.gateways_findings import (  # noqa: PLC0415 (which looks into worlds)
        findings,
    )

    return asyncio.run(findings(made))
