"""Templates of texts for the system prompt, as users write them."""

from collections.abc import Sequence


def check_template(template: object, slots: Sequence[str]) -> None:
    """Check a template for `str.format`; `None` is valid.

    Args:
        template: The template.
        slots: Names that it must have.

    Raises:
        TypeError: It is no text.
        ValueError: A slot is missing, or there are other braces.
    """
    if template is None:
        return
    if not isinstance(template, str):
        msg = f"system_prompt must be str or None, got {type(template).__name__}"
        raise TypeError(msg)
    if missing := [slot for slot in slots if f"{{{slot}}}" not in template]:
        msg = f"system_prompt missing required format slot(s): {', '.join(missing)}"
        raise ValueError(msg)
    try:
        template.format(**dict.fromkeys(slots, ""))
    except (LookupError, ValueError, AttributeError, TypeError) as error:
        msg = f"system_prompt has other braces ({error}): write {{{{ and }}}} for {{ and }}"
        raise ValueError(msg) from error
