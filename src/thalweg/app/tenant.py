"""All that one owner can reach."""

from dataclasses import dataclass

from thalweg.app.files import Files
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
    files: Files
