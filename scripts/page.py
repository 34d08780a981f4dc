"""Build the web page: `python -m scripts.page`; compare it with the built files: `… --check`.

The sources are in `packages/thalweg-server/page`; the built files are committed, so that nobody
needs Node.js to install or to use it. The types of the API are generated from the OpenAPI document
of the gateway. Node.js and npm build it; without them the types alone are compared.
"""

import argparse
import gzip
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from thalweg_server.app import open_app
from thalweg_server.gateway import create_app
from thalweg_server.settings import Settings

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "packages/thalweg-server/page"
BUILT = ROOT / "packages/thalweg-server/src/thalweg_server/web"
TYPES = SOURCES / "src/api.ts"
MOST_BYTES = 200_000
"""Of all built files, compressed."""
_HEAD = "// Generated from the OpenAPI document by `python -m scripts.page`.\n"
_SIMPLE = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}


def type_of(schema: dict[str, Any]) -> str:  # noqa: PLR0911 (a case each)
    """Return the TypeScript type of a schema.

    Example:
        >>> type_of({"anyOf": [{"type": "integer"}, {"type": "null"}]})
        'number | null'
        >>> type_of({"type": "array", "items": {"$ref": "#/components/schemas/Turn"}})
        'Turn[]'
    """
    if "$ref" in schema:
        return re.sub(r"\W", "_", schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return " | ".join(f'"{value}"' for value in schema["enum"])
    if "const" in schema:
        return f'"{schema["const"]}"'
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return " | ".join(dict.fromkeys(map(type_of, schema[union])))
    kind = schema.get("type")
    if kind == "null":
        return "null"
    if kind == "array":
        inner = type_of(schema.get("items", {}))
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if kind == "object" or "additionalProperties" in schema:
        values = schema.get("additionalProperties")
        return f"Record<string, {type_of(values) if isinstance(values, dict) else 'unknown'}>"
    return _SIMPLE.get(str(kind), "unknown")


def types() -> str:
    """Return the file with the types of all shapes of the API."""
    application = create_app(open_app(Settings()))
    schemas = application.openapi()["components"]["schemas"]
    lines = [_HEAD]
    for name, schema in sorted(schemas.items()):
        safe = re.sub(r"\W", "_", name)
        if "properties" not in schema:
            lines.append(f"export type {safe} = {type_of(schema)};\n")
            continue
        lines.append(f"export interface {safe} {{")
        required = {*schema.get("required", ()), *schema["properties"]}
        for field, inner in schema["properties"].items():
            optional = "" if field in required else "?"
            key = field if re.fullmatch(r"[A-Za-z_]\w*", field) else f'"{field}"'
            lines.append(f"  {key}{optional}: {type_of(inner)};")
        lines.append("}\n")
    return "\n".join(lines)


def build(target: Path) -> None:
    """Build the page into a folder.

    Raises:
        CalledProcessError: npm failed, or the sources have an error.
    """

    def npm(*arguments: str) -> None:
        subprocess.run(["npm", *arguments], cwd=SOURCES, check=True)  # noqa: S603, S607

    locked, wanted = SOURCES / "node_modules/.package-lock.json", SOURCES / "package-lock.json"
    if not locked.exists() or locked.stat().st_mtime < wanted.stat().st_mtime:
        npm("ci", "--silent", "--no-audit", "--no-fund")
    npm("run", "--silent", "check")
    npm(
        "run",
        "--silent",
        "build",
        "--",
        "--logLevel",
        "warn",
        "--outDir",
        str(target),
        "--emptyOutDir",
    )


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder by their paths."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def main() -> int:
    """Write or compare the types and the built files; return 1 if they differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    options = parser.parse_args()
    wanted = types()
    if options.check and TYPES.read_text("utf-8") != wanted:
        print(f"{TYPES.relative_to(ROOT)} is not that of the API: run python -m scripts.page")
        return 1
    if not options.check:
        TYPES.write_text(wanted, "utf-8")
    if shutil.which("npm") is None:
        print("the page was not built: there is no npm on this machine")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder))
        made = contents(Path(folder))
        if options.check and made != contents(BUILT):
            differ = sorted(
                name
                for name in {*made, *contents(BUILT)}
                if made.get(name) != contents(BUILT).get(name)
            )
            print(f"built files differ from their sources: {', '.join(differ)}")
            return 1
        if not options.check:
            shutil.rmtree(BUILT, ignore_errors=True)
            shutil.copytree(folder, BUILT)
    size = sum(len(gzip.compress(data)) for data in made.values())
    print(f"{len(made)} files, {size / 1000:,.1f} kB compressed")
    return int(size > MOST_BYTES)


if __name__ == "__main__":
    sys.exit(main())
