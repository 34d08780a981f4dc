"""What a provider accepts is learned from its refusals, and never forgotten upwards."""

from hypothesis import given
from hypothesis import strategies as st

from thalweg.context.request.last_check import Ceilings, RequestSize, SizeRefusal
from thalweg.context.request.refusals import Kind, Overflow
from thalweg.engine.tokens import Calibration, TokenCounts
from thalweg.engine.window.budget import Budget


def ledger(tokens: int, size: int = 0, media: int = 0, media_tokens: int = 0) -> TokenCounts:
    made = TokenCounts.empty()
    made.add("history", tokens, size, media, media_tokens)
    return made


@given(
    st.integers(1_000, 1_000_000),
    st.integers(0, 5),
    st.floats(0.5, 4),
    st.none() | st.integers(3_000, 1_000_000),
    st.floats(0, 0.9),
)
def test_the_next_request_is_smaller_whatever_was_said(
    tokens: int, times: int, factor: float, limit: int | None, media_share: float
) -> None:
    """With numbers or without, the limit falls below what was just refused, media or none."""
    calibration = Calibration(factor, 1)
    window = int(tokens * max(factor, 1) * 1.5)
    budget = Budget(window=window, max_output=window // 8)
    overflow = Overflow("tokens", None, limit)
    sent = ledger(tokens, media_tokens=int(tokens * media_share))
    learned = Ceilings().lowered(overflow, sent, budget, calibration, times)

    now = learned.under(budget).calibrated(calibration)
    assert now.limit < now.tokens_to_fit(sent)


def test_a_limit_that_is_named_is_taken_as_it_is() -> None:
    """No guess is made where the provider states it."""
    learned = Ceilings().lowered(
        Overflow("tokens", 30_000, 16_000),
        ledger(30_000),
        Budget(window=200_000),
        Calibration(),
        0,
    )

    assert learned == Ceilings(window=16_000, counts_in_full=True)


def test_bytes_and_pictures_have_ceilings_of_their_own() -> None:
    """They do not change the window."""
    budget, sent = Budget(window=50_000), ledger(9_000, 1_000_000, 9)
    bytes_ = Ceilings().lowered(Overflow("bytes"), sent, budget, Calibration(), 0)
    media = bytes_.lowered(Overflow("media"), sent, budget, Calibration(), 0)

    assert media == Ceilings(bytes=850_000, media=4)
    assert media.under(budget).max_media == 4
    assert media.under(budget).window == budget.window


def refusal(kind: Kind, size: RequestSize, limit: int | None = None) -> SizeRefusal:
    return SizeRefusal("a:model", Overflow(kind, None, limit), size)


def test_a_request_that_was_taken_raises_a_guess() -> None:
    """What was guessed too low is corrected by what the provider counted and took."""
    guess = Ceilings(window=10_000, bytes=70_000, media=20)

    assert guess.raised(RequestSize(12_000), 1_000) == Ceilings(13_000, 70_000, 20)
    assert guess.raised(RequestSize(8_000, 90_000, 30), 1_000) == Ceilings(10_000, 90_000, 30)
    assert Ceilings().raised(RequestSize(12_000, 1, 1), 1_000) == Ceilings()


def test_what_was_refused_is_learned_and_not_what_was_taken() -> None:
    """A turn that had to shrink to next to nothing has little information about the next one."""
    learned = Ceilings().learned(
        [
            refusal("bytes", RequestSize(90_000, 1_000_000)),
            refusal("bytes", RequestSize(70_000, 800_000)),
        ],
        RequestSize(100, 343),
        1_000,
    )

    assert learned == Ceilings(bytes=680_000)


@given(
    st.sampled_from(("tokens", "bytes", "media")),
    st.integers(0, 40_000),
    st.integers(0, 40_000),
)
def test_no_refusal_of_little_squeezes_later_turns(kind: Kind, refused: int, taken: int) -> None:
    """A proxy's 413 for a small request is about something in it."""
    size = RequestSize(refused // 5, refused, refused // 4_000)
    learned = Ceilings().learned([refusal(kind, size)], RequestSize(taken // 5, taken), 1_000)

    assert learned == Ceilings()


def test_a_limit_that_was_named_holds_for_later_turns() -> None:
    """However small the request was that was taken then."""
    learned = Ceilings().learned(
        [refusal("tokens", RequestSize(90_000), 32_000)], RequestSize(900), 1_000
    )

    assert learned == Ceilings(window=32_000)
