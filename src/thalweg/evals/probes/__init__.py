"""The probes, one file each: its cases, its grader, and what it shows where it fails."""

from thalweg.evals.base import Probe
from thalweg.evals.probes import (
    artifacts,
    clarification,
    constraint,
    continuing,
    cost,
    drift,
    invented_turns,
    isolation,
    memory_abstention,
    memory_recall,
    memory_update,
    needle,
    objective,
    premature,
    recall_use,
    tool_pairs,
)

PROBES: dict[str, Probe] = {
    one.PROBE.name: one.PROBE
    for one in (
        artifacts,
        clarification,
        constraint,
        continuing,
        cost,
        drift,
        invented_turns,
        isolation,
        memory_abstention,
        memory_recall,
        memory_update,
        needle,
        objective,
        premature,
        recall_use,
        tool_pairs,
    )
}
"""All of them, by name."""
