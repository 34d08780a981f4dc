"""Files of a container, a virtual machine, or a remote host, through commands alone.

Files are read, changed and searched by commands that the sandbox runs for its host. The output of a
command can be stored in a file on the command's own machine, with a preview for the model.
"""

import asyncio
import json
import posixpath
import secrets
import shlex
from abc import ABC, abstractmethod
from base64 import b64encode
from functools import lru_cache
from importlib.resources import files
from typing import Final, cast
from zlib import compress

from thalweg_agent.backends.calls.flows import Flow, FlowBackend, ask
from thalweg_agent.backends.calls.operations import Answer, BackendOperation, Execute, UploadFiles
from thalweg_agent.backends.file_data import read_file_type
from thalweg_agent.backends.paths import ROOT_IS_KEPT, validate_path
from thalweg_agent.backends.protocol import (
    ASYNC_GLOB_TIMEOUT,
    ASYNC_GREP_TIMEOUT,
    BackendProtocol,
    DeleteResult,
    EditResult,
    ExecuteOffloadResult,
    ExecuteResponse,
    FileDownloadResponse,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    SandboxBackendProtocol,
    WriteResult,
    cap_matches,
)
from thalweg_agent.backends.remote.results import (
    MAX_BINARY_BYTES,
    MAX_OUTPUT_BYTES,
    TRUNCATION_MSG,
    as_edit,
    as_glob,
    as_grep,
    as_ls,
    as_read,
    is_answer,
)
from thalweg_agent.backends.remote.script import composed, shown
from thalweg_agent.backends.searches.globs import anchored, compile_grep_include_glob
from thalweg_agent.backends.text import (
    EMPTY_OLD_STRING_ERROR,
    TRUNCATION_MARKER_TEMPLATE,
    normalize_read_bounds,
)

MAX_CAPTURE_BYTES: Final = 10 * 1024 * 1024
"""Default maximum of stored bytes of an output."""
_SIGN: Final = "__THALWEG_CAPTURED__"
_FIELDS: Final = 5
_LINES: Final = 5
"""Lines of the beginning and of the end in a preview."""
_BYTES: Final = 2000
"""Bytes of the same."""
__all__ = ["MAX_BINARY_BYTES", "MAX_OUTPUT_BYTES", "TRUNCATION_MSG", "BaseSandbox"]
_START: Final = (
    # A file of the project must not shadow a module of Python's standard library.
    "import sys;sys.path[:]=[p for p in sys.path if p];"
    "import base64,zlib;"
    'g={"__name__":"inside"};'
    "exec(zlib.decompress(base64.b64decode(sys.argv[1])),g);"
    'g["main"](sys.argv[2:])'
)
_EDIT_INLINE_MAX_BYTES: Final = 50_000
"""Bytes of both texts of an edit that go into a command; longer ones are uploaded."""
_MAX_COMMAND: Final = 120_000
"""Characters of a command; Linux takes no argument of 131,072 bytes."""
_SEARCH_TIMEOUTS: Final = {"grep": ASYNC_GREP_TIMEOUT, "glob": ASYNC_GLOB_TIMEOUT}
"""Seconds for an awaited search, by method."""


def capturing(
    command: str, path: str, *, max_inline_bytes: int, max_capture_bytes: int | None
) -> str:
    """Return a script that runs a command and stores its output in a file.

    The pipe is read to its end even if little is kept, so that the command is not killed for
    printing; its exit code and whether output was lost are sent on a separate descriptor.
    If the file cannot be created, the command runs without the capture.
    """
    keep = MAX_CAPTURE_BYTES if max_capture_bytes is None else max_capture_bytes
    # `printf` takes its words as a format, in which they have no `%` of their own.
    marker = TRUNCATION_MARKER_TEMPLATE.format(omitted_lines="%s")
    return f"""\
kept={shlex.quote(path)}
asked={shlex.quote(command)}
if ! {{ mkdir -p -- "${{kept%/*}}/" && : >"$kept"; }} 2>/dev/null; then
  eval "$asked"
  exit $?
fi
ended=$({{
  {{ (eval "$asked") 2>&1 3>&-; echo "c$?" >&3; }} |
  {{ head -c {keep} >"$kept"; echo "r$(head -c 1 | wc -c | tr -d ' ')" >&3; cat >/dev/null; }}
}} 3>&1)
code=${{ended#*c}}; code=${{code%%[!0-9]*}}
case $ended in *r1*) cut=1;; *) cut=0;; esac
size=$(($(wc -c <"$kept")))
if [ "$size" -le {max_inline_bytes} ]; then
  printf '%s\\n' "{_SIGN} ${{code:-1}} 0 $cut 0"
  cat "$kept"; rm -f -- "$kept"
  exit 0
fi
missing=$(($(wc -l <"$kept") - {2 * _LINES}))
printf '%s\\n' "{_SIGN} ${{code:-1}} 1 $cut $missing"
if [ "$missing" -gt 0 ]; then
  head -n {_LINES} "$kept" | head -c {_BYTES}
  long=0
  [ "$(head -n {_LINES} "$kept" | wc -c)" -gt {_BYTES} ] && long=1
  [ "$(tail -n {_LINES} "$kept" | wc -c)" -gt {_BYTES} ] && long=1
  [ $long = 1 ] && printf '\\n%s\\n' '... [lines beside this are cut: they are too long] ...'
  printf '{marker}\\n' "$missing"
  tail -n {_LINES} "$kept" | tail -c {_BYTES}
else
  head -c {2 * _BYTES} "$kept"
  lost=''
  [ $cut = 1 ] && lost=', the rest is lost'
  [ "$size" -gt {2 * _BYTES} ] &&
    printf '\\n... [cut here; %s bytes are in the file%s] ...\\n' "$size" "$lost"
fi
exit 0
"""


def captured(response: ExecuteResponse) -> ExecuteOffloadResult:
    r"""Parse the output of the script of `capturing`; any other text is the command's output.

    Example:
        >>> captured(ExecuteResponse(f"{_SIGN} 3 0 0 0\nhello\n", 0)).response
        ExecuteResponse(output='hello\n', exit_code=3, truncated=False)
    """
    first, _, rest = response.output.partition("\n")
    fields = first.split(" ", _FIELDS) if first.startswith(_SIGN) else []
    if len(fields) != _FIELDS or not all(field.lstrip("-").isdecimal() for field in fields[1:]):
        return ExecuteOffloadResult(offloaded=False, response=response)
    code, offloaded, cut, missing = (int(field) for field in fields[1:])
    return ExecuteOffloadResult(
        offloaded=offloaded == 1,
        response=ExecuteResponse(rest, code, truncated=cut == 1 or response.truncated),
        preview_has_truncation_marker=offloaded == 1 and missing > 0,
    )


def errand(python: str, task: str, *arguments: str) -> str:
    r"""Write the command that does a task of `script.py`.

    Nothing in it needs quoting but its fixed beginning: the program and its arguments are
    base64.

    Example:
        >>> errand("python3", "ls", "/o'clock\n").rsplit(maxsplit=3)[1:]
        ['ls', '.L28nY2xvY2sK', '2>&1']
    """
    coded = [f".{_coded(argument)}" for argument in arguments]
    start = f"PYTHONPATH= {python} -c '{_START}'"
    return " ".join((start, _program(), task, *coded, "2>&1"))


def included(glob: str) -> str:
    """Return regular expressions for a glob, for a process without a glob library.

    Raises:
        InvalidGlobPatternError: See `compile_grep_include_glob`.
    """
    compile_grep_include_glob(glob)
    glob = anchored(glob)
    # Slow to import, and most agents never search.
    from wcmatch import glob as wcmatch  # noqa: PLC0415

    regexes, _ = wcmatch.translate(glob.lstrip("/"), flags=wcmatch.BRACE | wcmatch.GLOBSTAR)
    return json.dumps(["/" not in glob, *regexes])


def _coded(text: str) -> str:
    # A model may search for half a character; nothing holds it, and nothing breaks on it.
    return b64encode(text.encode("utf-8", "surrogatepass")).decode()


@lru_cache(maxsize=1)
def _program() -> str:
    source = (files("thalweg_agent.backends.remote") / "script.py").read_bytes()
    return b64encode(compress(source, 9)).decode()


class BaseSandbox(FlowBackend, SandboxBackendProtocol, ABC):
    """Turn a place that runs commands into a backend.

    A subclass has `execute`, `upload_files`, `download_files` and `id`, and `aexecute` and
    `aupload_files` if it is asynchronous; everything else uses them. Each file method
    is one command: `python3` runs a small program in the sandbox, whose arguments are base64 and
    whose answers are JSON, so that a shell never interprets a name or content.

    The file methods may access all that a command may: the sandbox confines them, not this class.
    It needs Python 3.8 or newer and a POSIX shell.

    Example:
        ```python
        class Container(BaseSandbox):
            @property
            def id(self) -> str:
                return self._container.id

            def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
                code, output = self._container.exec_run(["sh", "-c", command])
                return ExecuteResponse(output.decode(errors="replace"), code)

            ...
        ```
    """

    root: str = "/"
    """The remote folder that is `/` in paths. `upload_files` and `download_files` get the same
    paths as other methods, and call `inside` for the remote ones."""

    python: str = "python3"
    """The command that is Python over there."""

    max_output_bytes: int = MAX_OUTPUT_BYTES
    """Maximum bytes of a command's output before the transport truncates it; answers are
    smaller."""

    grep_exclude_dirs: tuple[str, ...] = (".git",)
    """Names of folders that `grep` passes over, unless it is asked to search one of them."""

    enable_capture_offload: bool = False
    """Large output of commands is stored remotely in a file; needs `head`, `tail` and `wc`."""

    @property
    @abstractmethod
    def id(self) -> str:
        """Return the unique name of this sandbox; see `SandboxBackendProtocol.id`."""

    @abstractmethod
    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Run a command of a shell to its end; see `SandboxBackendProtocol.execute`."""

    @abstractmethod
    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """See `BackendProtocol.upload_files`; makes the folders that are missing."""

    @abstractmethod
    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Return the bytes of many files; one result for each, in their order.

        See `BackendProtocol.download_files`.
        """

    # These two are done by the subclass; only the others are commands.
    aupload_files = BackendProtocol.aupload_files
    adownload_files = BackendProtocol.adownload_files

    def inside(self, path: str) -> str:
        """Return the remote path of a path.

        Raises:
            PathError: It climbs, has a NUL in it, or cannot be a path.
        """
        return posixpath.join(self.root, validate_path(path)[1:])

    def _outside(self, path: str) -> str:
        """Return the path of a remote path."""
        root = self.root.rstrip("/")
        return shown(path[len(root) :] if path.startswith(f"{root}/") else path)

    def _ls(self, path: str) -> Flow[LsResult]:
        answer = yield from _errand(self, "ls", self.inside(path))
        return as_ls(answer, path, self._outside)

    def _read(self, path: str, offset: int, limit: int) -> Flow[ReadResult]:
        kind = "text" if read_file_type(path) == "text" else "bytes"
        offset, limit = normalize_read_bounds(offset, limit)
        # JSON and base64 need space, too.
        room = min(MAX_BINARY_BYTES, self.max_output_bytes * 3 // 5)
        window = (str(offset), str(limit), str(room))
        answer = yield from _errand(self, "read", self.inside(path), kind, *window)
        return as_read(answer, path)

    def _as_on_disk(self, path: str) -> Flow[str]:
        """Return the path of an existing entry that differs only in the composition of letters."""
        if path.isascii():
            return path
        found = as_ls((yield from _errand(self, "locate", self.inside(path))), path, self._outside)
        paths = (one["path"] for one in found.entries or ())
        same = [one for one in paths if composed(one) == composed(path)]
        return same[0] if same else path

    def _write(self, path: str, content: str) -> Flow[WriteResult]:
        path = yield from self._as_on_disk(path)
        there, raw = self.inside(path), content.encode()
        made = yield from _run(self, _make_room(there))
        if made.exit_code not in {None, 0} or "Error:" in made.output:
            return WriteResult(error=made.output.strip() or f"Failed to write file '{path}'")
        if problem := (yield from _upload(self, [(path, raw)])):
            return WriteResult(error=f"Failed to write file '{path}': {problem}")
        return WriteResult(path=path)

    def _edit(self, path: str, old: str, new: str, *, replace_all: bool) -> Flow[EditResult]:
        if not old:
            return EditResult(error=EMPTY_OLD_STRING_ERROR)
        there, raw_old, raw_new = self.inside(path), old.encode(), new.encode()
        scope = "all" if replace_all else "one"
        if len(raw_old) + len(raw_new) <= _EDIT_INLINE_MAX_BYTES:
            answer = yield from _errand(self, "edit", there, old, new, scope)
            return as_edit(answer, path, old)
        uploads = [(f"{self._scratch()}_old", raw_old), (f"{self._scratch()}_new", raw_new)]
        if problem := (yield from _upload(self, uploads)):
            return EditResult(error=f"Error editing file '{path}': {problem}")
        places = [self.inside(name) for name, _ in uploads]
        answer = yield from _errand(self, "edit_with", there, *places, scope)
        if not is_answer(answer):
            # The program removes them itself, if it gets that far.
            yield from _run(self, f"rm -f {shlex.join(places)}")
        return as_edit(answer, path, old)

    def _scratch(self) -> str:
        folder = "/tmp" if self.root == "/" else "/.thalweg"  # noqa: S108  # a name of 64 bits
        return f"{folder}/.thalweg_edit_{secrets.token_hex(8)}"

    def _delete(self, path: str) -> Flow[DeleteResult]:
        path = yield from self._as_on_disk(path)
        name = shlex.quote(self.inside(path))
        if validate_path(path) == "/":
            return DeleteResult(error=f"Error deleting '{path}': {ROOT_IS_KEPT}")
        check = f"[ -e {name} ] || [ -L {name} ] || {{ echo missing; exit 1; }}"
        gone = yield from _run(self, f"{check}; rm -rf -- {name} 2>&1")
        problem = gone.output.strip()
        if gone.exit_code == 0 or (gone.exit_code is None and not problem):
            return DeleteResult(path=path)
        if problem == "missing":
            return DeleteResult(error=f"Error: '{path}' not found")
        return DeleteResult(error=f"Error deleting file '{path}': {problem or 'unknown error'}")

    def _grep(
        self, pattern: str, path: str | None, glob: str | None, max_count: int | None
    ) -> Flow[GrepResult]:
        where, there = path or ".", self._searched(path)
        names = included(glob) if glob else ""
        base = posixpath.basename(there.rstrip("/"))
        excluded = "\0".join(name for name in self.grep_exclude_dirs if name != base)
        room = str(self.max_output_bytes // 2)
        count = "" if max_count is None else str(max(max_count, 0))
        command = errand(self.python, "grep", there, pattern, names, excluded, count, room)
        if len(command) > _MAX_COMMAND:
            return GrepResult(error=f"Path '{where}': the pattern is too long to search for")
        answer = yield from _run(self, command)
        return cap_matches(as_grep(answer, where, self._outside), max_count)

    def _glob(self, pattern: str, path: str | None) -> Flow[GlobResult]:
        where = path or "/"
        command = errand(self.python, "glob", self._searched(path), included(pattern))
        if len(command) > _MAX_COMMAND:
            return GlobResult(error=f"Path '{where}': pattern_too_broad")
        answer = yield from _run(self, command)
        return as_glob(answer, where, self._outside)

    def _searched(self, path: str | None) -> str:
        """Return the folder to search; an empty text is the folder in which commands start."""
        if path is None and self.root == "/":
            return ""
        return self.inside(path or "/")

    def execute_with_offload(
        self,
        command: str,
        capture_path: str,
        *,
        max_inline_bytes: int,
        max_capture_bytes: int | None = None,
        timeout: int | None = None,
    ) -> ExecuteOffloadResult:
        """Run a command and store its output remotely if it is large.

        The file holds both streams, `max_capture_bytes` of them at most; the rest is discarded, and
        the command still ends normally. After an invalid response the command is not repeated.

        Args:
            command: A line for the shell.
            capture_path: The file for the output.
            max_inline_bytes: Maximum bytes that are returned directly.
            max_capture_bytes: Maximum bytes to store; 10 MiB when `None`.
            timeout: Seconds, as of `execute`.
        """
        return self._now(
            self._offload(command, capture_path, max_inline_bytes, max_capture_bytes, timeout)
        )

    async def aexecute_with_offload(
        self,
        command: str,
        capture_path: str,
        *,
        max_inline_bytes: int,
        max_capture_bytes: int | None = None,
        timeout: int | None = None,  # noqa: ASYNC109  # the protocol's
    ) -> ExecuteOffloadResult:
        """Run a command and store its output remotely if it is large.

        See `execute_with_offload`.
        """
        return await self._later(
            self._offload(command, capture_path, max_inline_bytes, max_capture_bytes, timeout)
        )

    def _offload(
        self,
        command: str,
        path: str,
        max_inline_bytes: int,
        max_capture_bytes: int | None,
        timeout_s: int | None,
    ) -> Flow[ExecuteOffloadResult]:
        if not self.enable_capture_offload:
            response = yield from _run(self, command, timeout_s)
            return ExecuteOffloadResult(offloaded=False, response=response)
        script = capturing(
            command,
            self.inside(path),
            max_inline_bytes=max_inline_bytes,
            max_capture_bytes=max_capture_bytes,
        )
        return captured((yield from _run(self, script, timeout_s)))

    async def _aperform(self, operation: BackendOperation[Answer]) -> Answer:
        """Perform an operation; a search waits for a limited time."""
        seconds = _SEARCH_TIMEOUTS.get(operation.method)
        try:
            return await asyncio.wait_for(super()._aperform(operation), seconds)
        except TimeoutError:
            if seconds is None:
                raise
            problem = (
                f"Error: {operation.method} timed out after {seconds}s. "
                "Try a more specific pattern or a narrower path."
            )
            return cast("Answer", operation.result(error=problem))


def _run(sandbox: BaseSandbox, command: str, timeout_s: int | None = None) -> Flow[ExecuteResponse]:
    return ask(sandbox, Execute(command, timeout_s))


def _errand(sandbox: BaseSandbox, task: str, *arguments: str) -> Flow[ExecuteResponse]:
    return _run(sandbox, errand(sandbox.python, task, *arguments))


def _upload(sandbox: BaseSandbox, files: list[tuple[str, bytes]]) -> Flow[str | None]:
    """Upload files; return what went wrong."""
    answers = yield from ask(sandbox, UploadFiles(files))
    if len(answers) < len(files):
        return "upload returned no response"
    return next((answer.error for answer in answers if answer.error), None)


def _make_room(path: str) -> str:
    """Create the folders of a file; short for a file of any size."""
    name, folder = shlex.quote(path), shlex.quote(posixpath.dirname(path) or "/")
    return (
        f"if [ -d {name} ]; then echo 'Error: it is a directory'; exit 1; fi; "
        f"mkdir -p -- {folder} 2>&1"
    )
