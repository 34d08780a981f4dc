"""All that one owner can reach."""

from typing import TYPE_CHECKING

from thalweg_server.app.agents.models import TenantModels, TenantSkills
from thalweg_server.app.assistants import TenantAssistants
from thalweg_server.app.crons import TenantCrons
from thalweg_server.app.files.files import ThreadFiles
from thalweg_server.app.graph_runs import TenantGraphRuns
from thalweg_server.app.graph_threads import TenantGraphThreads
from thalweg_server.app.memory import TenantMemory
from thalweg_server.app.owner_deletion import OwnerDeletion
from thalweg_server.app.page import TenantPage
from thalweg_server.app.runs import TenantRuns
from thalweg_server.app.spending import TenantUsage
from thalweg_server.app.threads import TenantThreads
from thalweg_server.uploads.intake import UploadPolicy

if TYPE_CHECKING:
    from thalweg_server.app.document_store import DocumentStore
    from thalweg_server.app.parts import AppParts


class Tenant:
    """One owner's threads, runs, memory and files; another's cannot be named."""

    def __init__(self, owner: str, parts: "AppParts", policy: UploadPolicy) -> None:
        self.owner = owner
        self.threads = TenantThreads(owner, parts)
        self.runs = TenantRuns(owner, parts)
        self.memory = TenantMemory(owner, parts)
        self.usage = TenantUsage(owner, parts)
        self.page = TenantPage(owner, parts, self.threads)
        self.models = TenantModels(parts.settings)
        self.skills = TenantSkills(parts.settings)
        self.files = ThreadFiles(owner, parts.places, policy=policy, converter=parts.converter)
        self.assistants = TenantAssistants(owner, parts)
        self.graph_threads = TenantGraphThreads(owner, parts)
        self.graph_runs = TenantGraphRuns(owner, parts)
        self.crons = TenantCrons(owner, parts)
        self.deletion = OwnerDeletion(owner, parts)
        self._documents = parts.registry.documents

    @property
    def store(self) -> "DocumentStore":
        """The owner's items, as LangGraph's store."""
        from thalweg_server.app.document_store import DocumentStore  # noqa: PLC0415 (LangGraph: seconds)

        return DocumentStore(self._documents, self.owner)
