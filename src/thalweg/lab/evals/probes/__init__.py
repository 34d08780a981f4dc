"""The probes, one file each: cases, grader, and the meaning of a failure."""

from thalweg.lab.evals.base import Probe
from thalweg.lab.evals.probes import (
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
    work,
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
        work,
    )
}
"""All probes, by name."""
