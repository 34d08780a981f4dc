"""All that every archive promises."""

from core_tests.contract.suites.archive.logs import LogContract
from core_tests.contract.suites.archive.references import ReferenceContract
from core_tests.contract.suites.archive.search import SearchContract


class ArchiveContract(LogContract, ReferenceContract, SearchContract):
    """The promises of an archive, as tests.

    Subclass it and define two fixtures: `archive`, a fresh and empty archive, and `reopen`, which
    opens a second handle on the same data, as another process would. Where data ends with its
    handle, `reopen` may return the archive itself.
    """
