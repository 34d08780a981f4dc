"""All that one owner can reach."""

from dataclasses import dataclass

from thalweg.server.app.agents.models import TenantModels
from thalweg.server.app.agents.skills import TenantSkills
from thalweg.server.app.files.files import ThreadFiles
from thalweg.server.app.memory import TenantMemory
from thalweg.server.app.runs import TenantRuns
from thalweg.server.app.threads import TenantThreads
from thalweg.server.app.usage import TenantUsage


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
    files: ThreadFiles
