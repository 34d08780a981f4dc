"""What users configure: every form that is written in the wild, and refusals that help."""

from itertools import pairwise

import pytest
from pydantic import ValidationError

from thalweg.engine import TARIFFS, ContextPolicy, Offload, Pricing, RentOrBuy, Thresholds
from thalweg.engine.compaction.thresholds import Threshold
from thalweg.engine.window.budget import Cost
from thalweg.errors import ConfigError

DEERFLOW = {
    "enabled": True,
    "model_name": None,
    "trigger": [{"type": "fraction", "value": 0.8}, {"type": "messages", "value": 50}],
    "keep": {"type": "messages", "value": 20},
    "trim_tokens_to_summarize": 4000,
    "summary_prompt": None,
}
"""The section as DeerFlow's documents print it."""
SHARE, FIFTY = Threshold(type="fraction", value=0.8), Threshold(type="messages", value=50)
ANTHROPIC = TARIFFS["anthropic"]


def test_a_section_of_deerflow_loads_as_it_is() -> None:
    """And makes a policy of fixed thresholds."""
    policy = ContextPolicy.from_mapping(DEERFLOW)

    assert policy.trim_tokens_to_summarize == 4_000
    assert policy.policy(ANTHROPIC) == Thresholds(
        triggers=(SHARE, FIFTY), keep=Threshold(type="messages", value=20)
    )


@pytest.mark.parametrize(
    "trigger",
    [
        SHARE,
        ("fraction", 0.8),
        ["fraction", 0.8],
        [("fraction", 0.8)],
        {"type": "fraction", "value": 0.8},
        [{"type": "fraction", "value": 0.8}],
    ],
)
def test_a_trigger_may_be_written_in_six_ways(trigger: object) -> None:
    """One or a list; as in YAML, as a pair, as a value."""
    assert ContextPolicy.from_mapping({"trigger": trigger}).triggers == (SHARE,)


def test_the_pairs_of_langchain_are_taken_in_python() -> None:
    """With the type checker's consent."""
    policy = ContextPolicy(trigger=[("fraction", 0.8), ("messages", 50)], keep=("tokens", 3_000))

    assert policy.triggers == (SHARE, FIFTY)
    assert policy.keep == Threshold(type="tokens", value=3_000)


@pytest.mark.parametrize("trigger", [None, []])
def test_without_a_trigger_rent_decides(trigger: object) -> None:
    """By the prices of the model in use, unless others are named."""
    policy = ContextPolicy.from_mapping({"trigger": trigger})
    named = ContextPolicy(pricing=Pricing(tariff="deepseek"))

    assert policy.policy(ANTHROPIC) == RentOrBuy(ANTHROPIC, summarizes=True)
    assert named.policy(ANTHROPIC) == RentOrBuy(TARIFFS["deepseek"], summarizes=True)


def test_each_thread_gets_a_policy_of_its_own() -> None:
    """What one thread waits for is no other's."""
    policy = ContextPolicy.from_mapping(DEERFLOW)

    assert policy.policy(ANTHROPIC) is not policy.policy(ANTHROPIC)


def test_disabled_means_that_no_trigger_counts() -> None:
    """The ceilings of the window are not a matter of choice."""
    policy = ContextPolicy.from_mapping({**DEERFLOW, "enabled": False}).policy(ANTHROPIC)

    assert isinstance(policy, Thresholds)
    assert policy.triggers == ()


def test_settings_go_before_what_the_model_says_of_itself() -> None:
    """Window, answer and offload thresholds reach the budget."""
    offload = Offload(result_tokens=3_000, input_tokens=2_000, preview_lines=4)
    policy = ContextPolicy(window=50_000, max_output=0, offload=offload)
    budget = policy.budget(200_000, 64_000)

    assert (budget.window, budget.output) == (50_000, 0)
    assert (budget.result(budget.limit), budget.arguments, budget.preview_lines) == (
        3_000,
        2_000,
        4,
    )
    assert ContextPolicy().budget(200_000, 64_000).limit == 136_000
    assert ContextPolicy().budget(200_000).output == 8_192


def test_a_preset_sets_the_amounts() -> None:
    """From frugal to careful, each keeps no less than the one before; balanced is the default."""
    costs: tuple[Cost, ...] = ("frugal", "balanced", "careful")
    budgets = [ContextPolicy(cost=cost).budget(200_000) for cost in costs]
    kept = [(b.tail(0), b.record(0), b.result(b.limit), b.arguments) for b in budgets]

    assert ContextPolicy().budget(200_000) == budgets[1]
    assert all(a <= b for less, more in pairwise(kept) for a, b in zip(less, more, strict=True))
    assert kept[0] < kept[1] < kept[2]


@pytest.mark.parametrize(
    ("section", "tokens"),
    [
        ({}, 20_000),
        ({"offload": {"result_tokens": 9_000}}, 9_000),
        ({"offload": {"result_tokens": 400}}, 400),
        ({"cost": "frugal"}, 10_000),
        ({"cost": "frugal", "trigger": ["messages", 50]}, 20_000),
        ({"offload": {"result_tokens": 400}, "trigger": ["messages", 50]}, 400),
    ],
)
def test_a_size_that_is_set_goes_before_the_preset(section: dict[str, object], tokens: int) -> None:
    """With a trigger, no preset has an effect on it."""
    budget = ContextPolicy.from_mapping(section).budget(200_000)

    assert budget.result(budget.limit) == tokens


@pytest.mark.parametrize(
    ("window", "free", "by_price", "with_trigger"),
    [
        (128_000, 119_808, 20_000, 20_000),
        (128_000, 60_000, 15_000, 20_000),
        (128_000, 100, 8_000, 20_000),
        (1_000_000, 100, 8_000, 20_000),
        (32_000, 28_000, 7_000, 20_000),
        (32_000, 100, 7_000, 14_000),
        (8_000, 7_000, 1_750, 7_000),
        (8_000, 2_000, 1_750, 3_500),
    ],
)
def test_a_result_arrives_whole_by_its_size_and_the_free_tokens(
    window: int, free: int, by_price: int, with_trigger: int
) -> None:
    """At 128,000 nothing below 8,000 is replaced; with a trigger, nothing to 20,000 that fits."""
    budget = ContextPolicy().budget(window)

    assert (budget.result(free), budget.result(free, fills=True)) == (by_price, with_trigger)


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"cost": "cheap"}, "s.cost: 'cheap' cannot be used; it should be 'frugal', "),
        ({"triger": None}, "s.triger: there is no setting 'triger'; did you mean 'trigger'?"),
        ({"foo": 1}, "s.foo: there is no setting 'foo'; use enabled, summarize, background, "),
        (
            {"trigger": [["tokens", 5], {"type": "tokens", "valu": 5}]},
            "s.trigger[1].valu: there is no setting 'valu'; did you mean 'value'?",
        ),
        ({"trigger": {"type": "tokens"}}, "s.trigger.value: it is missing; add it"),
        (
            {"trigger": {"type": "token", "value": 4}},
            "s.trigger.type: 'token' cannot be used; it should be 'fraction', 'tokens' or ",
        ),
        ({"trigger": 5}, "s.trigger: '5' cannot be used; it should be keys and values"),
        (
            {"trigger": [FIFTY, ["fraction", 85]]},
            "s.trigger[1]: a fraction of 85 is outside 0..1; write 0.85 for 85 %",
        ),
        ({"trigger": ["fraction", 0]}, "s.trigger: a fraction of 0 is outside 0..1; write a share"),
        ({"trigger": ["fraction", float("nan")]}, "s.trigger: a fraction of nan is outside 0..1"),
        ({"trigger": ["messages", 2.5]}, "s.trigger: there are no 2.5 messages; write a whole "),
        ({"trigger": ["tokens", True]}, "s.trigger.value: True is not a number; write one"),
        ({"keep": ["tokens", "x"]}, "s.keep.value: 'x' is not a number; write one"),
        (
            {"trigger": ["messages", 20]},
            "s.keep: 20 messages to keep is not less than the trigger's 20; keep less than 20",
        ),
        (
            {"trigger": [["tokens", 9], ["fraction", 0.5]], "keep": ["fraction", 0.6]},
            "s.keep: 0.6 fraction to keep is not less than the trigger's 0.5; keep less than 0.5",
        ),
        ({"summary_prompt": " \n"}, "s.summary_prompt: the prompt is blank; write instructions"),
        (
            {"pricing": {"tariff": "antropic"}},
            "s.pricing.tariff: there is no tariff 'antropic'; did you mean 'anthropic'?",
        ),
        ({"offload": {"result_tokens": 0}}, "s.offload.result_tokens: '0' cannot be used; it "),
        ({"enabled": "maybe"}, "s.enabled: 'maybe' cannot be used; it should be true or false"),
        ({"window": 5_000, "max_output": 4_500}, "s.window: 5000 less 4500 for the answer leaves "),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_path_and_a_remedy(
    section: dict[str, object], said: str
) -> None:
    """In one sentence."""
    with pytest.raises(ConfigError) as caught:
        ContextPolicy.from_mapping(section, where="s")

    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_the_path_begins_with_the_section_of_the_file() -> None:
    """As users know it."""
    with pytest.raises(ConfigError, match=r"^summarization\.kep: "):
        ContextPolicy.from_mapping({"kep": 1})


def test_a_policy_made_in_python_is_refused_in_the_same_words() -> None:
    """By pydantic."""
    with pytest.raises(ValidationError, match=r"a fraction of 85 is outside 0\.\.1; write 0\.85"):
        ContextPolicy(trigger=("fraction", 85))


def test_a_model_that_leaves_no_room_is_told_from_a_setting() -> None:
    """With the numbers."""
    with pytest.raises(ConfigError, match=r"^window: a window of 8000 less 8000 .* by hand$"):
        ContextPolicy().budget(8_000, 8_000)


@pytest.mark.parametrize(
    "section", [{}, DEERFLOW, {"trigger": ["tokens", 9], "keep": ["tokens", 4]}]
)
def test_a_policy_written_as_json_reads_back(section: dict[str, object]) -> None:
    """Settings survive the border."""
    policy = ContextPolicy.from_mapping(section)

    assert ContextPolicy.model_validate_json(policy.model_dump_json()) == policy


def test_prices_decide_unless_sizes_do_or_nothing_does() -> None:
    """Only then is it worth a message that they had to be assumed."""
    assert ContextPolicy().weighs_prices
    assert not ContextPolicy(trigger=("tokens", 50_000)).weighs_prices
    assert not ContextPolicy(enabled=False).weighs_prices
