"""The whole bill of a replayed thread, by its parts."""

import json
from functools import lru_cache

from langchain_core.utils.function_calling import convert_to_openai_tool

from benchmarks.arena.rows import BillParts
from thalweg import ContextMiddleware
from thalweg.engine.pricing.cost import units_of
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.tokens import exact_counter
from thalweg_recorder.replay.results import ReplayRun
from thalweg_recorder.replay.subject import ReplaySubject, TariffTerms


def bill_of(subject: ReplaySubject, terms: TariffTerms, run: ReplayRun) -> BillParts:
    """Return the whole bill of a run.

    An answer's output is what its log states, and at least our count of the answer: some logs state
    the usage at the first token. Without usage the part of system prompt and tools is 0.
    """
    plain = reads = writes = output = 0.0
    for call in run.calls:
        prices = terms.tariff.prices(call.tokens)
        reads += terms.factor * prices.read * call.cached
        writes += terms.factor * prices.write * call.written
        plain += terms.factor * prices.input * (call.tokens - call.cached - call.written)
        counted = terms.factor * subject.entries[call.position].tokens
        output += max(call.bill.output, units_of(Usage(0, output=round(counted)), terms.tariff))
    bill, tokens = run.bill, recall_tokens() if run.evicted_tokens else 0
    is_ours = not run.policy.startswith("peer:")
    cold = sum(call.cold or not k for k, call in enumerate(run.calls))
    prices = terms.tariff.prices(tokens)
    recall = tokens * (prices.write * cold + prices.read * (len(run.calls) - cold))
    return BillParts(
        plain=plain,
        reads=reads,
        writes=writes,
        system=bill.input - plain - reads - writes,
        recall=recall if is_ours else 0.0,
        output=output,
        summaries=bill.summaries,
        steps=bill.steps,
    )


@lru_cache(maxsize=1)
def recall_tokens() -> int:
    """Return the tokens of the definition of our tool."""
    [tool] = [tool for tool in ContextMiddleware().tools if tool.name == "recall"]
    return exact_counter()(json.dumps(convert_to_openai_tool(tool), ensure_ascii=False))
