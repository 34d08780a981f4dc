"""What every archive promises.

`ArchiveContract` has all of it; each file has one subject.
"""

from thalweg.testing.archive.contract import ArchiveContract
from thalweg.testing.archive.logs import LogContract
from thalweg.testing.archive.references import ReferenceContract
from thalweg.testing.archive.search import SearchContract
from thalweg.testing.archive.values import KEY, ODD, OTHERS, Reopen, said

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
