"""All that one owner can reach."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thalweg_server.app.agents.models import TenantModels
from thalweg_server.app.agents.skills import TenantSkills
from thalweg_server.app.assistants import TenantAssistants
from thalweg_server.app.documents import Documents
from thalweg_server.app.files.files import ThreadFiles
from thalweg_server.app.graph_runs import TenantGraphRuns
from thalweg_server.app.graph_threads import TenantGraphThreads
from thalweg_server.app.memory import TenantMemory
from thalweg_server.app.page import TenantPage
from thalweg_server.app.runs import TenantRuns
from thalweg_server.app.threads import TenantThreads
from thalweg_server.app.usage import TenantUsage

if TYPE_CHECKING:
    from thalweg_server.app.document_store import DocumentStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """One owner's threads, runs, memory and files; another's cannot be named."""

    owner: str
    threads: TenantThreads
    runs: TenantRuns
    memory: TenantMemory
    usage: TenantUsage
    page: TenantPage
    models: TenantModels
    skills: TenantSkills
    files: ThreadFiles
    assistants: TenantAssistants
    graph_threads: TenantGraphThreads
    graph_runs: TenantGraphRuns
    documents: Documents

    @property
    def store(self) -> "DocumentStore":
        """The owner's items, as LangGraph's store."""
        from thalweg_server.app.document_store import DocumentStore  # noqa: PLC0415 (LangGraph: seconds)

        return DocumentStore(self.documents, self.owner)
