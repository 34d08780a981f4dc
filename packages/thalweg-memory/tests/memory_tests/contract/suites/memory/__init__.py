"""What every store of memories promises.

`MemoryStoreContract` has all of it; each file has one subject. `values` makes the facts, the turns
and the commits that the tests store.
"""

from memory_tests.contract.suites.memory.commits import CommitContract, UndoContract
from memory_tests.contract.suites.memory.contract import MemoryStoreContract
from memory_tests.contract.suites.memory.forgetting import ForgetContract
from memory_tests.contract.suites.memory.jobs import JobsContract
from memory_tests.contract.suites.memory.races import RacesContract, check, delete, learn, prepare
from memory_tests.contract.suites.memory.turns import ToldContract, TurnsContract
from memory_tests.contract.suites.memory.values import (
    ADA,
    NOW,
    OTHERS,
    Reopen,
    at,
    done,
    everything,
    fact,
    found,
    put,
    said,
    superseding,
)

__all__ = [
    "ADA",
    "NOW",
    "OTHERS",
    "CommitContract",
    "ForgetContract",
    "JobsContract",
    "MemoryStoreContract",
    "RacesContract",
    "Reopen",
    "ToldContract",
    "TurnsContract",
    "UndoContract",
    "at",
    "check",
    "delete",
    "done",
    "everything",
    "fact",
    "found",
    "learn",
    "prepare",
    "put",
    "said",
    "superseding",
]
