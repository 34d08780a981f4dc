"""The status of a subagent in LangGraph's v3 stream: failed where its task failed.

The tool `task` returns what went wrong as an error result, so that the parent can react, and
LangGraph takes a task that returned for one that completed. `run.subagents`, `run.subgraphs` and
`run.lifecycle` read the status from the event of its result.
"""

from typing import Any, ClassVar

from langgraph.stream import ProtocolEvent, StreamTransformer


class SubagentStatusTransformer(StreamTransformer):
    """Adds the error to the event of a task whose subagent failed.

    It runs before LangGraph's own transformers, which read `error` there and nowhere else. Their
    use of `id`, `result` and `interrupts` is not affected. Only the stream changes: state and
    checkpoints have the error result.
    """

    required_stream_modes: ClassVar[tuple[str, ...]] = ("tasks",)
    before_builtins: ClassVar[bool] = True

    def init(self) -> dict[str, Any]:
        """See `StreamTransformer.init`: there is no projection of its own."""
        return {}

    def process(self, event: ProtocolEvent) -> bool:
        """See `StreamTransformer.process`; every event is kept."""
        data = event["params"]["data"]
        if event["method"] == "tasks" and "result" in data and not data.get("error"):
            failed = _failures(data["result"])
            if failed:
                event["params"]["data"] = {**data, "error": "; ".join(failed)}
        return True


def _failures(result: object) -> list[str]:
    """Return the reports of failed tasks from a tool call's update of the state."""
    tasks = result.get("tasks") if isinstance(result, dict) else None
    if not isinstance(tasks, dict):
        return []
    entries = [task for task in tasks.values() if isinstance(task, dict)]
    return [str(task.get("report")) for task in entries if task.get("status") == "failed"]
