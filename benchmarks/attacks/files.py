"""Names of uploads, and paths that an agent's file tools are asked for."""

import asyncio
import io
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.attacks.outcome import Effort, Outcome
from thalweg.errors import PathError, UploadRefusedError
from thalweg_server.app.files import ThreadFiles
from thalweg_server.uploads.base import ThreadBackend
from thalweg_server.uploads.disk import open_places

_SECRET = "swordfish-5d1f"  # noqa: S105 (to be looked for)
_NAMES = (
    *("../a.txt", "../../a.txt", "/etc/cron.d/a", "a/../../b.txt", "..\\a.txt", "C:\\a.txt"),
    *("a\0.txt", ".", "..", "", " ", "...", "CON.txt", "nul", "a.txt:stream", "~root", "$HOME.txt"),
    *(
        "\u202etxt.exe",
        "a\r\nX: y.txt",
        "a" * 300 + ".txt",
        "\uff0e\uff0e\uff0fa.txt",
        "%2e%2e%2fa.txt",
    ),
    *("caf\u00e9.txt", "cafe\u0301.txt", "a;rm -rf b.txt", "`id`.txt", "-rf", "\u2044etc.txt"),
)


def _packed(files: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def _contents() -> dict[str, bytes]:
    bomb = _packed({"a.txt": bytes(100 << 20)})
    return {
        "bomb.zip": bomb,
        "climbs.zip": _packed({"../../../a.txt": b"x"}),
        "absolute.zip": _packed({"/etc/cron.d/a": b"x"}),
        "many.zip": _packed({str(number): b"" for number in range(70_000)}),
        "program.txt": b"\x7fELF\x02\x01\x01" + bytes(60),
        "page.png": b"<html><script>alert(1)</script>",
        "bomb.docx": _packed({"word/document.xml": bytes(100 << 20)}),
        "large.txt": b"a" * (60 << 20),
        "empty.txt": b"",
    }


def by_names_and_contents(effort: Effort) -> Outcome:
    """Send files with hostile names, and files whose type is not the declared one."""
    del effort
    with TemporaryDirectory() as folder:
        return asyncio.run(_uploaded(os.path.realpath(folder)))


async def _uploaded(folder: str) -> Outcome:
    breaches: list[str] = []
    contents = _contents()
    base = Path(folder)
    (home := base / "home").mkdir()
    files = ThreadFiles("ada", open_places(url=None, home=str(home)))
    before = _outside(base, home)
    for name in _NAMES:
        try:
            kept = (await files.upload("t", name, b"some text\n")).path
        except UploadRefusedError:
            continue
        if kept.count("/") != 2 or set(kept) & set("\\\0\r\n\u202e:"):  # noqa: PLR2004 (/uploads/NAME)
            breaches.append(f"{name!r} is kept as {kept!r}")
    for name, content in contents.items():
        try:
            await files.upload("t", name, content)
        except UploadRefusedError:
            continue
        breaches.append(f"{name} comes in")
    if _outside(base, home) != before:
        breaches.append("a file was written outside of the data folder")
    return Outcome(len(_NAMES) + len(contents), tuple(breaches))


def _outside(base: Path, home: Path) -> list[tuple[Path, int]]:
    return sorted(
        (path, path.stat().st_mtime_ns)
        for path in base.rglob("*")
        if path.is_file() and home not in path.parents
    )


def by_paths(effort: Effort) -> Outcome:
    """Ask every file tool for what is outside of its folder, by all names that lead there."""
    del effort
    breaches: list[str] = []
    with TemporaryDirectory() as folder:
        base = Path(os.path.realpath(folder))
        (base / "secret.txt").write_text(_SECRET)
        backend = open_places(url=None, home=str(base / "home")).backend("ada", "t")
        backend.write("/a/own.txt", "own\n")
        root = next(base.rglob("own.txt")).parents[1]
        (root / "link").symlink_to(base)
        (root / "file-link.txt").symlink_to(base / "secret.txt")
        (root / "a" / "up").symlink_to(base)
        (root / "hard.txt").hardlink_to(base / "secret.txt")
        tools = _tools(backend)
        paths = _spellings(base)
        for path in paths:
            for name, tool in tools.items():
                try:
                    shown = str(tool(path))
                except (PathError, ValueError):
                    shown = ""
                if _SECRET in shown.replace(path, ""):
                    breaches.append(f"{name} {path!r} shows what is outside")
                if (base / "secret.txt").read_text() != _SECRET:
                    breaches.append(f"{name} {path!r} changes what is outside")
                    (base / "secret.txt").write_text(_SECRET)
        if sorted(one.name for one in base.iterdir()) != ["home", "secret.txt"]:
            breaches.append("a file was made outside")
    return Outcome(len(paths) * len(tools), tuple(breaches))


def _spellings(base: Path) -> list[str]:
    climbs = (
        *(
            "../",
            "..\\",
            "./../",
            "a/../../",
            "%2e%2e/",
            "..%2f",
            "....//",
            "\uff0e\uff0e/",
            "~/../",
        ),
        *("link/", "a/up/", "a/up/home/../", "link/home/../", "/../", "//../", "a//..//..//"),
    )
    found = [f"{start}{climb}secret.txt" for start in ("", "/") for climb in climbs]
    direct = ("hard.txt", "/hard.txt", "file-link.txt", "/file-link.txt", "secret.txt\0.md")
    proc = (
        f"/proc/self/root{base}/secret.txt",
        "/proc/self/cwd/../secret.txt",
        "/dev/fd/../secret.txt",
    )
    return [*found, *direct, *proc, f"{base}/secret.txt", f"file://{base}/secret.txt", "SECRET.TXT"]


def _tools(backend: ThreadBackend) -> dict[str, Callable[[str], object]]:
    return {
        "ls": backend.ls,
        "read": backend.read,
        "write": lambda path: backend.write(path, "changed"),
        "edit": lambda path: backend.edit(path, _SECRET[:4], "changed"),
        "grep": lambda path: backend.grep("swordfish", path),
        "glob": lambda path: backend.glob("*", path),
        "download": lambda path: backend.download_files([path]),
        "delete": backend.delete,
    }
