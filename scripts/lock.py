"""Write `requirements.lock`: `python -m scripts.lock`; the bill of materials: `… --sbom FILE`.

The lock has every package of the container image but those of this repository, each with its
version and the hashes of its files, and no address of an index. Tests and users go by the ranges of
each `pyproject.toml`.
"""

import argparse
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.lock"
GROUP = "image"
"""The dependency group of the workspace with what the container image has."""


def export(target: Path, kind: str, *options: str) -> None:
    """Resolve the image's packages and write them to a file.

    Args:
        target: The file.
        kind: A format of `uv export`.
        options: More of its options.

    Raises:
        CalledProcessError: There is no such resolution, or no index can be reached.
    """
    command = ["uv", "export", "--quiet", "--only-group", GROUP, "--format", kind, *options]
    subprocess.run([*command, "--output-file", str(target)], cwd=ROOT, check=True)  # noqa: S603


def main() -> None:
    """Write the lock, or the bill of materials."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sbom", type=Path, help="write a CycloneDX bill of materials instead")
    given = parser.parse_args()
    if given.sbom is not None:
        export(given.sbom.resolve(), "cyclonedx1.5", "--preview-features", "sbom-export")
    else:
        bare = ("--no-emit-workspace", "--no-header", "--no-annotate")
        export(LOCK, "requirements.txt", *bare, "--upgrade")


if __name__ == "__main__":
    main()
