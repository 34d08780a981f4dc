"""The probes of the package: functions that build worlds, one file for each subject."""

from importlib import import_module

from thalweg_evals.world import PROBES

__all__ = ["PROBES"]

for _name in ("goals", "needle", "progress", "artifacts", "isolation", "work"):
    import_module(f"{__name__}.{_name}")
