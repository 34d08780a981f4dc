"""All that every store of memories promises."""

from thalweg.testing.memory.commits import CommitContract, UndoContract
from thalweg.testing.memory.forgetting import ForgetContract
from thalweg.testing.memory.jobs import JobsContract
from thalweg.testing.memory.races import RacesContract
from thalweg.testing.memory.turns import ToldContract, TurnsContract


class MemoryStoreContract(
    TurnsContract,
    ToldContract,
    CommitContract,
    UndoContract,
    ForgetContract,
    JobsContract,
    RacesContract,
):
    """The promises of a store of memories, as tests.

    Subclass it in your own suite and define two fixtures: `memory`, a fresh and empty store, and
    `reopen`, which opens a second handle on the same data, as another process would. Where data
    ends with its handle, `reopen` may return the store itself.
    """
