"""What every store of memories promises.

`MemoryStoreContract` has all of it; each file has one subject. `values` makes the facts, the turns
and the commits that the tests store.
"""

from thalweg.testing.memory.commits import CommitContract, UndoContract
from thalweg.testing.memory.contract import MemoryStoreContract
from thalweg.testing.memory.forgetting import ForgetContract
from thalweg.testing.memory.jobs import JobsContract
from thalweg.testing.memory.races import RacesContract, check, delete, learn, prepare
from thalweg.testing.memory.turns import ToldContract, TurnsContract
from thalweg.testing.memory.values import (
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
