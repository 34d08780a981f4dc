"""All that every store of memories promises."""

from memory_tests.contract.suites.memory.commits import CommitContract, UndoContract
from memory_tests.contract.suites.memory.forgetting import ForgetContract
from memory_tests.contract.suites.memory.jobs import JobsContract
from memory_tests.contract.suites.memory.races import RacesContract
from memory_tests.contract.suites.memory.turns import ToldContract, TurnsContract


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

    Subclass it and define two fixtures: `memory`, a fresh and empty store, and `reopen`, which
    opens a second handle on the same data, as another process would. Where data ends with its
    handle, `reopen` may return the store itself.
    """
