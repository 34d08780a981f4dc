"""Images count as they do with the model that the requests are for."""

import base64
import struct

import pytest

from core_tests.property.driving import quick_count
from thalweg.engine import TARIFFS, Budget, Engine, RentOrBuy
from thalweg.engine.entries import Media, Message, Text
from thalweg.engine.media.images import image_tokens
from thalweg.engine.tokens import MESSAGE_OVERHEAD

SIZE = (1_500, 1_000)
MODELS = ["anthropic:claude-sonnet-4-5", "openai:gpt-4o", "google_genai:gemini-3-pro", ""]


def image() -> Media:
    head = b"GIF89a" + struct.pack("<HH", *SIZE) + b"\x00\x00\x00"
    return Media("image/gif", data=base64.b64encode(head).decode())


def engine(model: str) -> Engine:
    return Engine(
        budget=Budget(window=100_000),
        policy=RentOrBuy(TARIFFS["anthropic"]),
        count=quick_count,
        name_span=lambda first, last: f"span-{first}-{last}",
        model=model,
    )


def talked(one: Engine) -> Engine:
    one.receive(Message("user", (Text("look"), image())))
    one.receive(Message("assistant", (Text("I see"),)))
    one.receive(Message("user", (Text("and now"), image())))
    one.prepare()
    return one


@pytest.mark.parametrize("model", MODELS)
def test_an_engine_that_knows_its_model_counts_images_by_its_rule(model: str) -> None:
    looked, seen, again = talked(engine(model)).window.items

    assert looked.tokens == MESSAGE_OVERHEAD + quick_count("look") + image_tokens(*SIZE, model)
    assert again.tokens == MESSAGE_OVERHEAD + quick_count("and now") + image_tokens(*SIZE, model)
    assert seen.tokens == MESSAGE_OVERHEAD + quick_count("I see")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("other", MODELS)
def test_with_another_model_the_images_that_are_there_count_anew(model: str, other: str) -> None:
    """As if the thread had been with that model from the start."""
    changed, straight = talked(engine(model)), talked(engine(other))
    changed.speak_to(other)
    for one in (changed, straight):
        one.receive(Message("assistant", (Text("I see"),)))
        one.receive(Message("user", (Text("third"), image())))
        one.prepare()

    assert changed.window.items == straight.window.items
    assert changed.window.tokens == straight.window.tokens
    assert changed.window.ledger == straight.window.ledger
    assert changed.problems == ()


def test_without_images_nothing_is_laid_out_again() -> None:
    """The prefix is the same, and does not have to be checked again."""
    one = engine("openai:gpt-4o")
    one.receive(Message("user", (Text("hello"),)))
    one.prepare()
    epoch = one.window.epoch
    one.speak_to("anthropic:claude-opus-5")

    assert one.window.epoch == epoch
