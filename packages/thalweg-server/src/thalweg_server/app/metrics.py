"""What Prometheus reads: requests, streams, and what runs cost.

Every gateway has a registry of its own; processes of one address (`--workers`) share theirs in
files. Labels are operations, statuses, models and kinds: nothing that an owner wrote, and never
more of them than the API has.
"""

import asyncio
import logging
import os
import shutil
from pathlib import Path
from typing import ClassVar, Literal

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
    values,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.multiprocess import MultiProcessCollector

from thalweg.database.private_files import make_private_folder
from thalweg_server.api.catalogue import Usage
from thalweg_server.runs.base import POOLS

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
RunStatus = Literal["completed", "interrupted", "failed", "cancelled", "left"]
"""How an attempt ended here; `left`: handed to another process, which resumes it."""
Mode = Literal["livesum", "mostrecent"]
"""Of several processes: the sum of those that live, or the newest value."""
_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable of the environment with the folder of the values that processes share."""
_log = logging.getLogger(__name__)
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60)
_RUN_SECONDS = (0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200)


def make_metrics_folder(folder: Path) -> None:
    """Create the folder of the metrics that processes share, or empty it.

    If it cannot be created, this is logged, and each process counts for itself.
    """
    shutil.rmtree(folder, ignore_errors=True)
    try:
        make_private_folder(folder)
    except OSError as error:
        _log.warning("/metrics counts one process: %s cannot be created (%s)", folder, error)


def share_metrics(folder: Path, number: int) -> None:
    """Count in files of a folder, and continue those of an earlier process with the number."""
    if folder.is_dir():
        os.environ[_FOLDER] = Metrics.folder = str(folder)
        values.ValueClass = values.MultiProcessValue(lambda: number)  # type: ignore[no-untyped-call]


class Metrics:
    """Everything that is counted."""

    folder: ClassVar[str | None] = None
    """Of the values that the processes of one address share; see `share_metrics`."""

    def __init__(self) -> None:
        self._registry = into = CollectorRegistry()
        ProcessCollector(registry=into)

        def counter(name: str, about: str, *labels: str) -> Counter:
            return Counter(f"thalweg_{name}", about, labels, registry=into)

        def histogram(
            name: str, about: str, *labels: str, buckets: tuple[float, ...] = _RUN_SECONDS
        ) -> Histogram:
            return Histogram(f"thalweg_{name}", about, labels, registry=into, buckets=buckets)

        def gauge(name: str, about: str, *labels: str, mode: Mode = "livesum") -> Gauge:
            return Gauge(f"thalweg_{name}", about, labels, registry=into, multiprocess_mode=mode)

        self.requests = counter("requests", "Requests by status.", "operation", "status")
        self._seconds = histogram(
            "request_seconds",
            "Time until a response was complete, without streams.",
            "operation",
            buckets=_SECONDS,
        )
        self._streams = gauge("streams_open", "Event streams open now.")
        self.events = counter("events_sent", "Events sent by type.", "type")
        self._runs = counter("runs", "Runs that this process completed, by status.", "status")
        self._run_seconds = histogram("run_seconds", "Time from a run's start to its end.")
        self._now = gauge("runs_running", "Runs performed here now.")
        self._depth = gauge("queue_depth", "Runs that wait, anywhere.", mode="mostrecent")
        self._connections = gauge("pool_connections", "Connections to PostgreSQL.", "pool")
        self._waiting = gauge("pool_waiting", "Calls that wait for a connection.", "pool")
        self._waits = histogram("run_wait_seconds", "Time from a run's creation to its start.")
        self._takeovers = counter("run_takeovers", "Attempts at runs that another one began.")
        first = "Time from a request to the first token of its answer."
        self._first = histogram("model_first_token_seconds", first, "model")
        self._model_errors = counter("model_errors", "Failed model calls.", "model", "code")
        self.tool_errors = counter("tool_errors", "Errors that tools raised.", "kind")
        self._compactions = counter("compactions", "Requests that were made smaller.")
        self._saved = counter("context_saved_tokens", "Tokens that compactions removed.")
        self._tokens = counter("tokens", "Tokens by model and kind.", "model", "kind")
        self._cost = counter("cost", "Cost of models with known prices.", "model", "currency")
        self.limits_met = counter("limits_met", "Requests refused with 429, by limit.", "limit")
        self.memory_jobs = counter("memory_jobs", "Jobs of memory by how they ended.", "result")

    async def text(self, streams_open: int, queue_depth: float) -> bytes:
        """Write everything as Prometheus reads it."""
        self._depth.set(queue_depth)
        self._streams.set(streams_open)
        for pool in tuple(POOLS):
            stats = pool.get_stats()
            self._connections.labels(pool.name).set(stats["pool_size"])
            self._waiting.labels(pool.name).set(stats["requests_waiting"])
        registry = self._registry
        if self.folder:
            registry = CollectorRegistry()
            MultiProcessCollector(registry, self.folder)  # type: ignore[no-untyped-call]
        return await asyncio.to_thread(generate_latest, registry)  # reads files of all processes

    def answered(self, operation: str, status: int, seconds: float | None) -> None:
        """Count a request; `seconds` is `None` for a stream."""
        self.requests.labels(operation, str(status)).inc()
        if seconds is not None:
            self._seconds.labels(operation).observe(seconds)

    def run_began(self, waited_s: float, *, is_takeover: bool) -> None:
        """Count an attempt at a run, which waited since it was created or was begun elsewhere."""
        self._now.inc()
        if is_takeover:
            self._takeovers.inc()
        else:
            self._waits.observe(waited_s)

    def run_ended(self, status: RunStatus, seconds: float) -> None:
        """Count the end of an attempt at a run in this process."""
        self._now.dec()
        self._runs.labels(status).inc()
        self._run_seconds.observe(seconds)

    def model_began(self, model: str, seconds: float) -> None:
        """Count the first token of an answer of `provider:name`, since the request was sent."""
        self._first.labels(model or "unknown").observe(seconds)

    def model_failed(self, model: str, code: str) -> None:
        """Count a failed call of a model; the code is as in a problem: `model.unavailable`."""
        self._model_errors.labels(model or "unknown", code).inc()

    def compacted(self, tokens: int) -> None:
        """Count a request that was made smaller by some tokens."""
        self._compactions.inc()
        self._saved.inc(max(tokens, 0))

    def model_called(self, model: str, usage: Usage) -> None:
        """Count the usage of an answer."""
        model = model or "unknown"
        uncached = usage.input_tokens - usage.cached_tokens - usage.written_tokens
        kinds = {
            "input": uncached,
            "cached": usage.cached_tokens,
            "written": usage.written_tokens,
            "output": usage.output_tokens,
        }
        for kind, tokens in kinds.items():
            self._tokens.labels(model, kind).inc(max(tokens, 0))
        if usage.cost is not None:
            self._cost.labels(model, usage.currency).inc(max(usage.cost, 0.0))
