"""All that one owner can reach."""

from dataclasses import dataclass

from thalweg_server.app.agents.models import TenantModels
from thalweg_server.app.agents.skills import TenantSkills
from thalweg_server.app.files.files import ThreadFiles
from thalweg_server.app.memory import TenantMemory
from thalweg_server.app.runs import TenantRuns
from thalweg_server.app.threads import TenantThreads
from thalweg_server.app.usage import TenantUsage


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
