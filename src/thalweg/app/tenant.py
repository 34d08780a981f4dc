"""All that one owner can reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thalweg.app.files import TenantFiles
    from thalweg.app.memory import TenantMemory
    from thalweg.app.models import TenantModels
    from thalweg.app.runs import TenantRuns
    from thalweg.app.skills import TenantSkills
    from thalweg.app.threads import TenantThreads
    from thalweg.app.usage import TenantUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """One owner's threads, runs, memory and files; another's cannot be named."""

    owner: str
    threads: TenantThreads
    runs: TenantRuns
    memory: TenantMemory
    usage: TenantUsage
    models: TenantModels
    skills: TenantSkills
    files: TenantFiles
