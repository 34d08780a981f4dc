"""The one table from an error to its HTTP status."""

from thalweg import errors

STATUSES: dict[type[errors.ThalwegError], int] = {
    errors.ThalwegError: 500,
    errors.ConfigError: 422,
    errors.RecordingError: 422,
    errors.PathError: 422,
    errors.InvalidGlobPatternError: 422,
    errors.MemoryFileError: 500,
    errors.ContextError: 422,
    errors.SummaryError: 502,
    errors.MemoryStoreError: 422,
    errors.NoSuchFactError: 404,
    errors.NoSuchOperationError: 404,
    errors.StaleWriteError: 409,
    errors.MemoryOffError: 403,
    errors.RunError: 409,
    errors.NoSuchRunError: 404,
    errors.NoSuchThreadError: 404,
    errors.ThreadExistsError: 409,
    errors.NoSuchModelError: 404,
    errors.NoSuchSkillError: 404,
    errors.FileError: 422,
    errors.NoSuchFileError: 404,
    errors.ClientError: 502,
    errors.ArchiveError: 422,
    errors.HandleError: 404,
    errors.RangeError: 416,
    errors.ConflictError: 409,
    errors.StorageError: 503,
}
"""A class that is not named here has the status of its nearest base."""


def status_of(error: errors.ThalwegError) -> int:
    """Return the HTTP status of an error.

    Example:
        >>> status_of(errors.BusyError("t1", "r1")), status_of(errors.NoSuchRunError("r1"))
        (409, 404)
    """
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
