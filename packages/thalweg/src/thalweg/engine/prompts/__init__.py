"""The texts for a model, each in a file that declares its variables.

Two rules: no such text is in code; a file uses every variable it declares and no other.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

__all__ = ["Prompt", "load", "load_all", "prompt", "prompts"]

_PROMPT_FILE = re.compile(
    r"---\nvariables: ?(?P<variables>[\w, ]*)\n---\n(?P<text>.*)\n", re.DOTALL
)
_VARIABLE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text with variables."""

    name: str
    variables: tuple[str, ...]
    text: str

    def render(self, **values: object) -> str:
        """Replace the variables by values.

        Raises:
            TypeError: The values are not those of the declared variables.

        Example:
            >>> Prompt("p", ("what",), "see {what}").render(what="{x}")
            'see {x}'
        """
        if set(values) != set(self.variables):
            msg = f"prompt {self.name} takes {self.variables}, not {tuple(values)}"
            raise TypeError(msg)
        return _VARIABLE.sub(lambda match: str(values[match[1]]), self.text)


@cache
def load(package: str, name: str) -> Prompt:
    """Load a prompt of a package; cached.

    Raises:
        ValueError: The file is malformed, or declares other variables than it uses.
    """
    match = _PROMPT_FILE.fullmatch((files(package) / f"{name}.md").read_text(encoding="utf-8"))
    if match is None:
        msg = f"prompt {name} does not begin with its variables between two lines of ---"
        raise ValueError(msg)
    variables = tuple(v.strip() for v in match["variables"].split(",") if v.strip())
    used = set(_VARIABLE.findall(match["text"]))
    if used != set(variables):
        msg = f"prompt {name} declares {sorted(variables)} and uses {sorted(used)}"
        raise ValueError(msg)
    return Prompt(name, variables, match["text"])


def load_all(package: str) -> list[Prompt]:
    """Load every prompt of a package, sorted by name."""
    file_names = (file.name for file in files(package).iterdir())
    return [
        load(package, name.removesuffix(".md"))
        for name in sorted(file_names)
        if name.endswith(".md")
    ]


def prompt(name: str) -> Prompt:
    """Load a prompt of the engine and the code around it; see `load`."""
    return load(__name__, name)


def prompts() -> list[Prompt]:
    """Load every prompt of the engine and the code around it; see `load_all`."""
    return load_all(__name__)
