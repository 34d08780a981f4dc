"""Every error Thalweg raises on purpose.

```
ThalwegError                    code; str() is one sentence with the numbers in it
├── ConfigError                 an argument or a setting cannot be used as given
│   ├── MissingExtraError       a package of an extra is not installed; also an ImportError
│   ├── SettingsError           a file of settings cannot be used; all that is wrong with it
│   └── SpecError               a subagent cannot be made from its spec
├── RecordingError              a file cannot be read as a recorded thread
├── PathError                   a path no backend may touch; also a ValueError
├── InvalidGlobPatternError     a glob that cannot be matched; also a ValueError
├── MemoryFileError             a memory file is there and cannot be read; also a ValueError
├── ContextError
│   ├── PinError                words to pin are not where they were said to be
│   ├── SummaryError            what a model wrote cannot stand for what it was to summarise
│   ├── RejectedRequestError    the provider refused what a request contains, and its repair
│   └── WindowExceededError     what must stay is larger than the window
│       └── RefusedError        the provider found even the smallest request too large
├── MemoryStoreError            a memory cannot do what was asked; nothing was changed
│   ├── NoSuchFactError         no fact of this memory has that id
│   ├── NoSuchOperationError    no commit of this memory has that number, or it was forgotten
│   ├── FactRefusedError        what was to be remembered may not be
│   ├── DocumentError           a memory document cannot be read
│   ├── StaleWriteError         someone else changed the memory first
│   └── MemoryOffError          memory is off, or may not be written, here
├── RunError
│   ├── BusyError               another run of the thread has not ended
│   ├── NoSuchRunError          no run of this owner has that id
│   ├── AnswerError             a person's word does not answer what is asked
│   ├── RunExistsError          a run of this owner has that id already
│   ├── RecordedThreadError     a thread is a session of another agent: to be read only
│   └── ClaimLostError          another process performs the run now
├── NoSuchThreadError           no thread of this owner has that id
├── NoSuchAssistantError        no graph and no assistant of this owner has that id
├── ThreadIdError               a text cannot be the id of a thread; also a ValueError
├── FileError                   a file of a thread cannot be had or taken
│   ├── NoSuchFileError         there is none
│   └── UploadRefusedError      its type, its size or its content may not come in
├── ClientError                 a gateway refused what a client asked, or cannot be reached
└── ArchiveError
    ├── EmptyThreadError        a thread has no turns yet
    ├── HandleError             a handle names nothing this reader may read
    ├── RangeError              a handle is good, the range asked of it is not
    ├── ConflictError           someone else appended first
    ├── DeletedThreadError      the thread was deleted while a run was in progress
    ├── LostThreadError         a state's older messages are in another archive
    └── StorageError            the medium failed: disk full, locked, damaged
```
"""

from thalweg.errors.archive import (
    ArchiveError,
    ConflictError,
    DeletedThreadError,
    EmptyThreadError,
    HandleError,
    LostThreadError,
    RangeError,
    StorageError,
)
from thalweg.errors.base import (
    ConfigError,
    FileError,
    InvalidGlobPatternError,
    MemoryFileError,
    MissingExtraError,
    NoSuchFileError,
    PathError,
    RecordingError,
    SettingsError,
    SpecError,
    ThalwegError,
    UploadRefusedError,
)
from thalweg.errors.context import (
    ContextError,
    PinError,
    RefusedError,
    RejectedRequestError,
    SummaryError,
    WindowExceededError,
)
from thalweg.errors.memory import (
    DocumentError,
    FactRefusedError,
    MemoryOffError,
    MemoryStoreError,
    NoSuchFactError,
    NoSuchOperationError,
    StaleWriteError,
)
from thalweg.errors.runs import (
    AnswerError,
    BusyError,
    ClaimLostError,
    ClientError,
    NoSuchAssistantError,
    NoSuchModelError,
    NoSuchRunError,
    NoSuchSkillError,
    NoSuchThreadError,
    RecordedThreadError,
    RunError,
    RunExistsError,
    ThreadExistsError,
    ThreadIdError,
)

__all__ = [
    "AnswerError",
    "ArchiveError",
    "BusyError",
    "ClaimLostError",
    "ClientError",
    "ConfigError",
    "ConflictError",
    "ContextError",
    "DeletedThreadError",
    "DocumentError",
    "EmptyThreadError",
    "FactRefusedError",
    "FileError",
    "HandleError",
    "InvalidGlobPatternError",
    "LostThreadError",
    "MemoryFileError",
    "MemoryOffError",
    "MemoryStoreError",
    "MissingExtraError",
    "NoSuchAssistantError",
    "NoSuchFactError",
    "NoSuchFileError",
    "NoSuchModelError",
    "NoSuchOperationError",
    "NoSuchRunError",
    "NoSuchSkillError",
    "NoSuchThreadError",
    "PathError",
    "PinError",
    "RangeError",
    "RecordedThreadError",
    "RecordingError",
    "RefusedError",
    "RejectedRequestError",
    "RunError",
    "RunExistsError",
    "SettingsError",
    "SpecError",
    "StaleWriteError",
    "StorageError",
    "SummaryError",
    "ThalwegError",
    "ThreadExistsError",
    "ThreadIdError",
    "UploadRefusedError",
    "WindowExceededError",
]
