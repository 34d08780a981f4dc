"""A chat without a model: how to set one up, and which models were found."""

from collections.abc import Callable, Sequence

from thalweg_server.models import AvailableModel, how_to_answer


def choose(
    offers: Sequence[AvailableModel], show: Callable[[str], object], ask: Callable[[str], str]
) -> str:
    """Show how to get to an answer, and let a person take what is there.

    Args:
        offers: What `find_models` found.
        show: Prints.
        ask: Asks for a line.

    Returns:
        The name of the model to use; empty where there is none, or none is wanted.
    """
    show(how_to_answer(offers))
    ready = [offer for offer in offers if offer.is_ready]
    if not ready:
        return ""
    show("")
    for number, offer in enumerate(ready, 1):
        show(f"  {number}  {offer.name}  ({offer.what})")
    said = ask("Which model should answer? (a number; Enter quits) ").strip()
    is_one = said.isdecimal() and 1 <= int(said) <= len(ready)
    return ready[int(said) - 1].name if is_one else ""
