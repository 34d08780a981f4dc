"""Starts and ends of subgraphs, read from the tasks that a graph streams."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from thalweg_server.app.streaming import Namespace, calls_in


class SubgraphTracker:
    """Emits when a subgraph starts and when it ends, as parts of mode `lifecycle`.

    A subgraph runs inside a task of its parent. The last segment of its namespace is
    `NODE:TASK`; it starts with its first task, and ends with the result of its parent's.
    """

    def __init__(self) -> None:
        self._open: dict[Namespace, str] = {}
        """The names of those that started and have not ended."""
        self._started: set[Namespace] = set()
        self._calls: dict[str, str] = {}
        """The first tool call that a task performs, by the task's id."""

    def parts(self, namespace: Namespace, task: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the starts and ends of subgraphs at the start or the result of a task."""
        if "result" in task:
            segment = f"{task['name']}:{task['id']}"
            if (name := self._open.pop((*namespace, segment), None)) is not None:
                yield {
                    "event": _status_of(task),
                    "namespace": [*namespace, segment],
                    "graph_name": name,
                }
            return
        for call in islice(calls_in(task.get("input")), 1):
            self._calls[task["id"]] = str(call.get("id"))
        if namespace and namespace not in self._started:
            self._started.add(namespace)
            yield self._start(namespace, task)

    def _start(self, namespace: Namespace, task: Mapping[str, Any]) -> dict[str, Any]:
        node, _, parent = namespace[-1].partition(":")
        agent = (task.get("metadata") or {}).get("lc_agent_name")
        self._open[namespace] = agent or node
        started = {
            "event": "started",
            "namespace": [*namespace],
            "graph_name": agent or node,
            "trigger_call_id": parent,
        }
        if agent and parent in self._calls:
            started["cause"] = {"type": "toolCall", "tool_call_id": self._calls[parent]}
        return started


def _status_of(result: Mapping[str, Any]) -> str:
    if result.get("interrupts"):
        return "interrupted"
    return "failed" if result.get("error") else "completed"
