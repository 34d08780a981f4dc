"""An extension of Griffe, which mkdocstrings reads docstrings with."""

import re

from griffe import Extension, Object

_EXAMPLE = re.compile(r"^( *)Example:$", re.MULTILINE)


class DoctestExamples(Extension):
    """Reads `Example:` as Google's `Examples:`, so that its doctests are shown as code."""

    def on_instance(self, *, obj: Object, **kwargs: object) -> None:
        """Rename the section in the docstring of an object."""
        del kwargs
        if obj.docstring:
            obj.docstring.value = _EXAMPLE.sub(r"\1Examples:", obj.docstring.value)
