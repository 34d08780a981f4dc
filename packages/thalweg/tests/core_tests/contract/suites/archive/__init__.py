"""What every archive promises.

`ArchiveContract` has all of it; each file has one subject.
"""

from core_tests.contract.suites.archive.contract import ArchiveContract
from core_tests.contract.suites.archive.logs import LogContract
from core_tests.contract.suites.archive.references import ReferenceContract
from core_tests.contract.suites.archive.search import SearchContract
from core_tests.contract.suites.archive.values import KEY, ODD, OTHERS, Reopen, said

__all__ = [
    "KEY",
    "ODD",
    "OTHERS",
    "ArchiveContract",
    "LogContract",
    "ReferenceContract",
    "Reopen",
    "SearchContract",
    "said",
]
