"""The backend of a path, and the path or glob as that backend names it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from thalweg.errors import ConfigError
from thalweg_agent.backends.protocol import BackendProtocol
from thalweg_agent.backends.searches.globs import alternatives, compile_grep_include_glob


@dataclass(frozen=True, slots=True)
class RoutedPath:
    """A path and the backend that answers for it."""

    backend: BackendProtocol
    path: str
    """The path in that backend."""
    prefix: str | None
    """The prefix of that backend, with a `/` at its end; `None` for the default."""

    def outer(self, path: str) -> str:
        """Return the outer path of a path of that backend."""
        return path if self.prefix is None else self.prefix + path.lstrip("/")

    def outer_words(self, error: str | None) -> str | None:
        """Replace the path in an error by the requested one; a model has seen no other."""
        if error is None or self.prefix is None:
            return error
        return error.replace(f"'{self.path}'", f"'{self.outer(self.path)}'")


class Routes:
    """The backends below their prefixes, and the default for every other path.

    The longest prefix wins, and a prefix matches whole names: `/memories-old` is not below
    `/memories/`.

    Raises:
        ConfigError: A prefix does not begin with `/`, contains `..`, or occurs twice.
    """

    def __init__(self, default: BackendProtocol, routes: Mapping[str, BackendProtocol]) -> None:
        self._default = default
        self._by_prefix: dict[str, BackendProtocol] = {}
        for given, backend in routes.items():
            prefix = _as_prefix(given)
            if prefix in self._by_prefix:
                raise ConfigError("routes", f"{prefix!r} is there twice", "keep one of them")
            self._by_prefix[prefix] = backend
        self._longest_first = sorted(self._by_prefix, key=len, reverse=True)

    def place(self, path: str) -> RoutedPath:
        """Find who answers for a path."""
        tidy = _tidy(path)
        for prefix in self._longest_first:
            if tidy == prefix[:-1] or tidy.startswith(prefix):
                return RoutedPath(self._by_prefix[prefix], "/" + tidy[len(prefix) :], prefix)
        return RoutedPath(self._default, path, None)

    def longest_first(self) -> list[tuple[str, BackendProtocol]]:
        """The prefixes, each with a `/` at its end, and their backends."""
        return [(prefix, self._by_prefix[prefix]) for prefix in self._longest_first]

    def under(self, folder: str) -> list[str]:
        """The prefixes below a folder, and not the folder itself, in the order of routes."""
        above = _tidy(folder).rstrip("/") + "/"
        return [p for p in self._by_prefix if p.startswith(above) and p != above]

    def root(self, prefix: str) -> RoutedPath:
        """The whole of the backend at a prefix."""
        return RoutedPath(self._by_prefix[prefix], "/", prefix)

    def folders_in(self, folder: str) -> list[str]:
        """The folders of a folder that are there because a backend is below them."""
        above = _tidy(folder).rstrip("/") + "/"
        names = {prefix[len(above) :].split("/", 1)[0] for prefix in self.under(folder)}
        return [f"{above}{name}/" for name in sorted(names)]

    def owns(self, place: RoutedPath, path: str) -> bool:
        """Whether a place answers for a path, and not a longer prefix that hides it there."""
        return self.place(path).prefix == place.prefix


def _as_prefix(given: str) -> str:
    if not given.startswith("/") or ".." in given.split("/"):
        raise ConfigError(
            "routes", f"{given!r} is not an absolute path", "write it as '/memories/'"
        )
    return _tidy(given).rstrip("/") + "/"


def _tidy(path: str) -> str:
    """Drop empty names and dots, which would lead around a prefix; keep a `/` at the end."""
    if not path.startswith("/") or not ("//" in path or "/." in path):
        return path
    names = [name for name in path.split("/") if name not in {"", "."}]
    is_folder = path.endswith(("/", "/.")) and bool(names)
    return "/" + "/".join(names) + ("/" if is_folder else "")


def inner_globs(pattern: str, names: list[str]) -> list[str]:
    """Return a glob's equivalents for a backend that has only the files below some folders.

    Args:
        pattern: Relative to the folder of a search; without a `/` it matches names alone.
        names: The folders from there down to the root of the other backend.

    Returns:
        Globs for the other backend; a file matches if any of them does. Empty when nothing there
        can match.

    Raises:
        InvalidGlobPatternError: See `compile_grep_include_glob`.

    Example:
        >>> inner_globs("*.md", ["memories"])
        ['*.md']
        >>> inner_globs("/memories/**/*.md", ["memories"])
        ['/**/*.md']
        >>> inner_globs("**/work/*.md", ["memories"]), inner_globs("*.md/x", ["memories"])
        (['/**/work/*.md'], [])
    """
    compile_grep_include_glob(pattern)
    if "/" not in pattern:
        return [pattern]
    rests: dict[str, None] = {}
    for alternative in alternatives(pattern):
        segments = [segment for segment in alternative.split("/") if segment not in {"", "."}]
        rests.update({f"/{'/'.join(rest)}": None for rest in _after(segments, names) if rest})
    return list(rests)


def _after(segments: list[str], names: list[str]) -> Iterator[list[str]]:
    """Yield the rest of a glob to match below some folders."""
    if not names:
        yield segments
        return
    if not segments:
        return
    if segments[0] == "**":
        yield from _after(segments[1:], names)
        if not names[0].startswith("."):
            yield from _after(segments, names[1:])
    elif compile_grep_include_glob(segments[0])(names[0]):
        yield from _after(segments[1:], names[1:])
