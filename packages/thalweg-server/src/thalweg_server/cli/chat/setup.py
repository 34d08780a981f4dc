"""A chat without a model: how to set one up, and which models were found."""

from collections.abc import Callable, Sequence

from thalweg_server.models import AvailableModel, how_to_answer


def choose(
    offers: Sequence[AvailableModel], show: Callable[[str], object], ask: Callable[[str], str]
) -> str:
    """Show how to set up a model, and let a person choose one of those that are ready.

    Args:
        offers: The result of `find_models`.
        show: Prints a text.
        ask: Asks for a line.

    Returns:
        The name of the model to use; empty if there is none, or none is chosen.
    """
    show(how_to_answer(offers))
    ready = [offer for offer in offers if offer.is_ready]
    if not ready:
        return ""
    show("")
    for number, offer in enumerate(ready, 1):
        show(f"  {number}  {offer.name}  ({offer.what})")
    reply = ask("Which model should answer? (a number; Enter quits) ").strip()
    is_one = reply.isdecimal() and 1 <= int(reply) <= len(ready)
    return ready[int(reply) - 1].name if is_one else ""
