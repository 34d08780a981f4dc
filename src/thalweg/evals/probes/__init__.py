"""The probes, one file each: its cases, its grader, and what it shows where it fails."""

from thalweg.evals.base import Probe
from thalweg.evals.probes import (
    clarification,
    continuing,
    needle,
    objective,
    premature,
)

PROBES: dict[str, Probe] = {
    one.PROBE.name: one.PROBE
    for one in (
        clarification,
        continuing,
        needle,
        objective,
        premature,
    )
}
"""All of them, by name."""
