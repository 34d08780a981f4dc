"""The probes, one file each: cases, grader, and the meaning of a failure."""

from importlib import import_module

from thalweg_evals.base import Probe

_NAMES = (
    *("artifacts", "clarification", "constraint", "continuing", "cost", "drift"),
    *("invented_turns", "isolation", "memory_abstention", "memory_recall", "memory_update"),
    *("needle", "objective", "premature", "recall_use", "tool_pairs", "work"),
)
PROBES: dict[str, Probe] = {
    name: import_module(f"thalweg_evals.probes.{name}").PROBE for name in _NAMES
}
"""All probes, by name."""
