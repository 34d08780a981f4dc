"""Small runs for the tests of the report, made by hand."""

from thalweg.engine.edits import Edit, Evict, Fold
from thalweg.engine.entries import Text
from thalweg.engine.pricing.savings import Forecast, Saving
from thalweg_recorder.replay.bill import Bill
from thalweg_recorder.replay.results import NeedleRecall, OutlineLine, ReplayedCall, ReplayRun

HOSTILE = (
    "</script><script>document.title='taken'</script><!-- <img src=x onerror=alert(1)> "
    "\u2028\u202e ' \" & \x00 \ud800 https://example.org/x.js 漢字"
)


def a_call(turn: int, tokens: int, edits: tuple[Edit, ...] = (), outline: int = 0) -> ReplayedCall:
    """Make the call of one turn; its request has two messages a turn, or three after a fold."""
    return ReplayedCall(
        turn=turn,
        position=2 * turn - 1,
        tokens=tokens,
        cached=tokens // 2,
        written=tokens - tokens // 2,
        cost=tokens * 0.675,
        cold=turn == 2,
        broke_at=-1,
        edits=edits,
        steps=0,
        outline=outline,
        length=3 if outline else 2 * turn - 1,
        problems=(),
        bill=Bill(input=tokens * 0.675, steps=825.0 if turn == 6 else 0.0),
    )


def a_saving(turn: int, reason: str, *, freed: int, calls: int, realised: float) -> Saving:
    """Make a line of the ledger of savings."""
    return Saving(
        turn=turn,
        reason=reason,
        forecast=Forecast(price=freed / 2, saving=freed / 10, calls=turn),
        freed=freed,
        calls=calls,
        saved=realised + 500,
        rewriting=500.0,
        summary_cost=0.0,
        fetched=0.0,
    )


def a_run(policy: str = "thalweg", trajectory: str = "a-thread", text: str = "hello") -> ReplayRun:
    """Make a run of six calls: one evict, one fold, and requests that differ by it."""
    evict = Evict(
        reason="arrived too large",
        turn=2,
        tokens_before=900,
        tokens_after=40,
        position=2,
        parts=(Text(f"preview {text}"),),
    )
    fold = Fold(
        reason="the request would not fit",
        turn=5,
        tokens_before=3_000,
        tokens_after=300,
        last=6,
        kept=(1,),
        record=f"<thread-record>{text}</thread-record>",
    )
    whole = [
        OutlineLine(p, "user" if p % 2 == 0 else "assistant", 500, "whole", text) for p in range(9)
    ]
    whole[2] = OutlineLine(2, "tool grep", 40, "evict", f"preview {text}", "abcdefghijklmnop")
    folded = [
        OutlineLine(-1, "user (injected)", 300, "record", text, "qrstuvwxyz234567"),
        *whole[7:],
    ]
    managed = policy != "none"
    savings = (
        a_saving(2, evict.reason, freed=860, calls=5, realised=1_200.0),
        a_saving(5, fold.reason, freed=2_700, calls=2, realised=-310.0),
    )
    edits: dict[int, tuple[Edit, ...]] = {2: (evict,), 5: (fold,)} if managed else {}
    calls = tuple(
        a_call(t, 1_000 * t, edits.get(t, ()), outline=int(managed and t > 4)) for t in range(1, 7)
    )
    return ReplayRun(
        trajectory=trajectory,
        policy=policy,
        window=8_000,
        tariff="anthropic",
        limit=7_000,
        messages=12,
        calls=calls,
        outlines=(tuple(whole), tuple(folded)) if managed else (tuple(whole),),
        compactions=int(managed),
        summaries=0,
        summary_input_tokens=0,
        summary_output_tokens=0,
        overhead_tokens=0,
        cost=sum(call.cost for call in calls),
        cost_unmanaged=20_000.0,
        bill_unmanaged=20_000.0,
        faults_recoverable=1,
        faults_lost=0,
        cost_with_steps=15_000.0,
        cost_with_faults=14_000.0,
        savings=savings if managed else (),
        cost_beyond=70.0 if managed else 0.0,
        recall=NeedleRecall(inline=1, search=2, lost=0),
        goals_verbatim=3,
        goals_lost=0,
        evicted_tokens=0,
        unread_evicted_tokens=0,
        unrecoverable_bytes=0,
        notes=(f"line 3: {text}",),
    )
