"""What is to be said of a file that can be used."""

from dataclasses import dataclass
from typing import Literal

from thalweg.settings.nodes import Node, Place


@dataclass(frozen=True, slots=True)
class Notice:
    """Something of a file that a user may not expect."""

    place: Place
    told: str
    kind: Literal["no effect", "taken as", "warning"]

    def __str__(self) -> str:
        """One line."""
        return f"{self.place}: {self.place.key}: {self.told}"


def no_effect(node: Node, why: str = "") -> Notice:
    """Say that something does nothing here."""
    return Notice(node.place, f"has no effect here{why and f': {why}'}", "no effect")


def taken_as(node: Node, what: str) -> Notice:
    """Say what something stands for here."""
    return Notice(node.place, f"is taken as {what}", "taken as")


def warning(node: Node, told: str) -> Notice:
    """Say what will not work, or not as it looks."""
    return Notice(node.place, told, "warning")
