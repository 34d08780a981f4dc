"""The probes, one file each: its cases, its grader, and what it shows where it fails."""

from thalweg.evals.base import Probe
from thalweg.evals.probes import (
    memory_abstention,
    memory_recall,
    memory_update,
    needle,
    recall_use,
)

PROBES: dict[str, Probe] = {
    one.PROBE.name: one.PROBE
    for one in (
        memory_abstention,
        memory_recall,
        memory_update,
        needle,
        recall_use,
    )
}
"""All of them, by name."""
