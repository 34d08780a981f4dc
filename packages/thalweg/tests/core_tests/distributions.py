"""Metadata of distributions with an entry point, as an installer writes it."""

from pathlib import Path


def install(folder: Path, name: str, target: str, group: str = "thalweg.commands") -> None:
    """Write the metadata of a distribution whose entry point `main` names an object."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\nmain = {target}\n")
