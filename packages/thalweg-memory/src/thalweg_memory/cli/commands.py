"""`thalweg memory`: show the stored facts, and why; change, export and forget them."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, get_args

import typer

from thalweg.archive.threads.thread_export import write_to
from thalweg.cli.confirmation import UNCHANGED, confirm
from thalweg.cli.printing import print_json, print_lines
from thalweg.cli.shared_options import Yes, bounded, command_group, respond, wants_json
from thalweg.cli.values import one_of
from thalweg.errors import ConfigError
from thalweg_memory.base import Operation, new_fact_id, utc_now
from thalweg_memory.cli.opening import open_store, opened
from thalweg_memory.cli.options import (
    AsOf,
    Dry,
    Id,
    Kind,
    MemoryGroup,
    MemoryOptions,
    Sure,
    Words,
    memory_options,
    share_of,
)
from thalweg_memory.cli.plain import (
    plain_change,
    plain_fact,
    plain_operation,
    plain_profile,
    plain_recalled,
)
from thalweg_memory.cli.text import (
    render_change,
    render_explained,
    render_fact,
    render_full_fact,
    render_memory,
    render_operations,
    render_recalled,
    render_receipt,
)
from thalweg_memory.deciding import MemorySnapshot
from thalweg_memory.facts.by_hand import plan_clear, plan_delete
from thalweg_memory.facts.document import Shape, plan_document, read_document
from thalweg_memory.facts.values import Category, Change, Fact, Mode, RemoveFact, Scope, Status
from thalweg_memory.handle import Memory

memory = command_group(
    name="memory",
    cls=MemoryGroup,
    callback=memory_options,
    help="Show what is remembered across threads, and why; change, export or forget it. "
    "A fact is named by its id, a change by its number in `thalweg memory history`.",
)


def planned_changes(
    user_memory: Memory, decide: Callable[[MemorySnapshot], Sequence[Change]]
) -> Sequence[Change]:
    """Return the changes that would be made."""
    facts = user_memory.store.facts(user_memory.scope, statuses=None)
    return decide(MemorySnapshot(facts, user_memory.profile()))


def facts_by_id(user_memory: Memory, names: Sequence[str]) -> dict[str, Fact]:
    """Return the facts with these ids, of any status."""
    ids = set(names)
    facts = user_memory.store.facts(user_memory.scope, statuses=None)
    return {fact.id: fact for fact in facts if fact.id in ids}


def newest_operation(user_memory: Memory) -> int:
    """Return the number of the newest operation."""
    done = user_memory.history(limit=1)
    if not done:
        raise ConfigError("N", "nothing was changed here", "there is nothing to undo")
    return done[0].id


def read_utf8(file: Path) -> str:
    """Return the text of a file in UTF-8."""
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ConfigError(str(file), "it is not written in UTF-8", "save it as UTF-8") from None


def print_changes(
    ctx: typer.Context,
    planned: Sequence[Change],
    done: Operation | None,
    known: Mapping[str, Fact],
    *,
    dry_run: bool,
) -> None:
    """Print the changes that were made, or would be made, as text or JSON."""
    changes = planned if dry_run else done.changes if done else ()
    plain = {
        "dry_run": dry_run,
        "operation": done.id if done else None,
        "changes": [plain_change(change) for change in changes],
    }
    if dry_run:
        title = "Would change:" if planned else "Nothing would change."
        respond(ctx, [title, *(render_change(change, known) for change in planned)], plain)
    else:
        respond(ctx, render_operations([done], known) if done else ["Nothing changed."], plain)


@memory.command(short_help="Show what is remembered, or one fact with its evidence.")
def show(
    ctx: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="ID", help="Of a fact. Default: all.", show_default=False)
    ] = "",
    *,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Include superseded and expired facts, and those that wait for review."
        ),
    ] = False,
) -> None:
    """Show the profile and the valid facts; with an ID, one fact and its source."""
    with opened(ctx) as user_memory:
        if name:
            fact = user_memory.fact(name)
            respond(ctx, render_full_fact(fact), plain_fact(fact))
            return
        profile = user_memory.profile()
        statuses: tuple[Status, ...] = get_args(Status) if everything else ("active",)
        facts = user_memory.facts(*statuses)
    plain = {"profile": plain_profile(profile), "facts": [plain_fact(fact) for fact in facts]}
    respond(ctx, render_memory(profile, facts), plain, empty_message="Nothing is remembered here.")


@memory.command(short_help="Search memory with a question.")
def search(
    ctx: typer.Context,
    words: Words,
    *,
    as_of: AsOf = "",
) -> None:
    """Show the items that an agent gets for a message of these words, best first."""
    with opened(ctx) as user_memory:
        found = user_memory.search(" ".join(words), as_of=as_of)
    nothing = "Nothing in memory relates to it."
    respond(ctx, render_recalled(found), plain_recalled(found), empty_message=nothing)


@memory.command(short_help="Show why something is recalled, or is not.")
def explain(
    ctx: typer.Context,
    words: Words,
    *,
    as_of: AsOf = "",
) -> None:
    """Show for every candidate of a question why it is recalled or is not, best first."""
    with opened(ctx) as user_memory:
        found = user_memory.explain(" ".join(words), as_of=as_of)
    respond(ctx, render_explained(found), plain_recalled(found))


def _category(name: str | None) -> Category | None:
    return None if name is None else one_of("--category", name, get_args(Category), "category")


@memory.command(short_help="Remember something.")
def add(
    ctx: typer.Context,
    content: Annotated[
        str, typer.Argument(metavar="CONTENT", help='One statement: "User prefers tea".')
    ],
    *,
    category: Kind = None,
    confidence: Sure = None,
    protected: Annotated[
        bool, typer.Option("--protect", help="Never evict it when memory is full.")
    ] = False,
) -> None:
    """Remember a statement on your own word; `edit` corrects a fact instead."""
    with opened(ctx, makes=True) as user_memory:
        fact = user_memory.remember(
            content,
            category=_category(category) or "knowledge",
            confidence=1.0 if confidence is None else share_of(confidence),
            protected=protected,
        )
    respond(ctx, render_fact(fact), plain_fact(fact))


@memory.command(short_help="Change a fact.")
def edit(
    ctx: typer.Context,
    name: Id,
    content: Annotated[
        str | None,
        typer.Argument(metavar="CONTENT", help="The new text.", show_default=False),
    ] = None,
    *,
    category: Kind = None,
    confidence: Sure = None,
    protected: Annotated[
        bool | None,
        typer.Option(
            "--protect/--no-protect", help="Whether it may be evicted when memory is full."
        ),
    ] = None,
) -> None:
    """Change the text of a fact, its category or its confidence; the history keeps the old one."""
    with opened(ctx) as user_memory:
        fact = user_memory.edit(
            name,
            content=content,
            category=_category(category),
            confidence=None if confidence is None else share_of(confidence),
            protected=protected,
        )
    respond(ctx, render_fact(fact), plain_fact(fact))


@memory.command(short_help="Remove facts; undo restores them.")
def delete(
    ctx: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="ID", help="Of facts, as listed.")],
    *,
    dry_run: Dry = False,
) -> None:
    """Take facts out of the memory. The history keeps them; `forget` deletes for good."""
    with opened(ctx) as user_memory:
        planned = planned_changes(user_memory, lambda known: plan_delete(known.facts, names))
        known = facts_by_id(user_memory, names)
        done = None if dry_run else user_memory.delete(*names)
    print_changes(ctx, planned, done, known, dry_run=dry_run)


@memory.command(short_help="Delete permanently, everywhere.")
def forget(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="Of facts, as listed.")
    ] = None,
    *,
    threads: Annotated[
        list[str] | None,
        typer.Option("--thread", metavar="ID", help="All turns of this thread. May be repeated."),
    ] = None,
    messages: Annotated[
        list[str] | None,
        typer.Option("--message", metavar="ID", help="The turn of this message. May be repeated."),
    ] = None,
    query: Annotated[
        str, typer.Option(metavar="WORDS", help="Facts and turns that contain all these words.")
    ] = "",
    everything: Annotated[bool, typer.Option("--everything", help="The whole memory.")] = False,
    dry_run: Dry = False,
    yes: Yes = False,
) -> None:
    """Delete for good: facts, evidence, index, profile, history and jobs; nothing brings it back.

    It is not learned again from the same messages. The threads themselves are kept:
    see `thalweg thread delete`.
    """
    with opened(ctx) as user_memory:
        erase = partial(
            user_memory.forget,
            *(names or ()),
            threads=threads or (),
            messages=messages or (),
            query=query,
            everything=everything,
        )
        receipt = erase(dry_run=True)
        if not wants_json(ctx):
            print_lines(render_receipt(receipt, facts_by_id(user_memory, receipt.facts)))
        if not dry_run:
            confirm(
                "Forget all this permanently?",
                "to forget permanently",
                yes=yes,
                refusal_text=UNCHANGED,
            )
            receipt = erase()
            if not wants_json(ctx):
                print_lines(render_receipt(receipt))
    if wants_json(ctx):
        print_json(asdict(receipt))


@memory.command("export", short_help="Write the memory as a document.")
def export_memory(
    ctx: typer.Context,
    *,
    form: Annotated[
        str,
        typer.Option(
            "--format", metavar="NAME", help="seeds (userContext, history, facts) or deerflow."
        ),
    ] = "seeds",
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to. Default: print it.", show_default=False),
    ] = None,
) -> None:
    """Write what holds, and the profile, as a document of DeerFlow's form."""
    shape: Shape = one_of("--format", form, get_args(Shape), "form")
    with opened(ctx) as user_memory:
        text = user_memory.export(shape=shape)
    if output is None:
        sys.stdout.write(text)
    else:
        write_to(output, [text], archive=ctx.ensure_object(MemoryOptions).db)


@memory.command("import", short_help="Import a document.")
def import_document(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A document, in either form.")],
    *,
    dry_run: Dry = False,
) -> None:
    """Import a document: its items are added, or replace those with the same id."""
    text = read_utf8(file)
    where = str(file)
    read = read_document(text, where)
    with opened(ctx, makes=True) as user_memory:
        planned = planned_changes(
            user_memory,
            lambda known: plan_document(
                read, known.facts, known.profile, now=utc_now(), new_id=new_fact_id
            ),
        )
        done = None if dry_run else user_memory.import_(text, where=where)
    print_changes(ctx, planned, done, {}, dry_run=dry_run)


@memory.command(short_help="Remove everything; undo restores it.")
def clear(
    ctx: typer.Context,
    *,
    dry_run: Dry = False,
    yes: Yes = False,
) -> None:
    """Take out all facts and the profile. The history keeps them; `forget` deletes for good."""
    with opened(ctx) as user_memory:
        now = utc_now()
        planned = planned_changes(
            user_memory, lambda had: plan_clear(had.facts, had.profile, now=now)
        )
        known = facts_by_id(user_memory, [one.id for one in planned if isinstance(one, RemoveFact)])
        if not dry_run:
            question = f"Remove all {len(planned):,} facts and texts?"
            confirm(question, "to clear it", yes=yes, refusal_text=UNCHANGED)
        done = None if dry_run else user_memory.clear()
    print_changes(ctx, planned, done, known, dry_run=dry_run)


@memory.command(short_help="List the changes.")
def history(
    ctx: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="ID", help="Of a fact. Default: all.", show_default=False)
    ] = "",
    *,
    limit: Annotated[
        int,
        typer.Option(metavar="N", help="At most so many, the newest.", callback=bounded, min=1),
    ] = 50,
) -> None:
    """List the changes, by whom and why, newest first: of one fact, or of all."""
    with opened(ctx) as user_memory:
        done = user_memory.history(name, limit=limit)
    plain = {"operations": [plain_operation(one) for one in done]}
    respond(ctx, render_operations(done), plain)


@memory.command(short_help="List proposals that need a decision, and accept or reject them.")
def review(
    ctx: typer.Context,
    *,
    accept: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Accept it. May be repeated.")
    ] = None,
    reject: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Reject it. May be repeated.")
    ] = None,
) -> None:
    """List the facts that were not learned from you: none is recalled until you accept it."""
    with opened(ctx) as user_memory:
        for name in accept or ():
            user_memory.accept(name)
        for name in reject or ():
            user_memory.reject(name)
        waiting = user_memory.review()
    plain = {"facts": [plain_fact(fact) for fact in waiting]}
    lines = (line for fact in waiting for line in render_full_fact(fact))
    respond(ctx, lines, plain, empty_message="Nothing waits for a decision.")


@memory.command(short_help="Undo a change.")
def undo(
    ctx: typer.Context,
    operation: Annotated[
        int | None,
        typer.Argument(
            metavar="N",
            help="Number of a change in the history. Default: the newest.",
            show_default=False,
            callback=bounded,
        ),
    ] = None,
    *,
    later: Annotated[
        bool, typer.Option("--and-later", help="Undo all later changes, too.")
    ] = False,
) -> None:
    """Restore the content that a change replaced. An undo is also a change, and can be undone."""
    with opened(ctx) as user_memory:
        number = newest_operation(user_memory) if operation is None else operation
        done = user_memory.restore(number - 1) if later else [user_memory.undo(number)]
    plain = {"operations": [plain_operation(one) for one in done]}
    respond(ctx, render_operations(done), plain)


@memory.command(short_help="Import the edits of memory.json.")
def reload(ctx: typer.Context) -> None:
    """Commit the edits made by hand, and write the document again (`storage: json`).

    Every command does so; this one reports the edits, and fails if the document cannot be read.
    """
    options = ctx.ensure_object(MemoryOptions)
    with open_store(options, makes=options.document is not None) as store:
        found = Memory(store, Scope(options.owner, options.agent)).reload()
    done = [] if found is None else [found]
    plain = {"operations": [plain_operation(one) for one in done]}
    respond(ctx, render_operations(done), plain, empty_message="There are no edits.")


@memory.command(short_help="Learn from the threads that are due.")
def learn(
    ctx: typer.Context,
    *,
    model: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Model that learns: provider:name, or openai:NAME@http://host/v1.",
        ),
    ],
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for threads that are not due yet, too.")
    ] = False,
) -> None:
    """Learn from the threads of all owners that have been quiet for long enough."""
    from thalweg_memory.cli.learning import (  # noqa: PLC0415 (loads slowly)
        learn_due,
        learning_model,
    )

    learning = learning_model(model)
    with open_store(ctx.ensure_object(MemoryOptions)) as store:
        reports = learn_due(store, learning, wait=wait)
        due = store.next_due()
    if wants_json(ctx):
        print_json({"jobs": reports.events, "next_due": due})
        return
    print_lines(reports.sentences)
    if due is not None:
        print_lines([f"The next thread is due at {due}; --wait learns from it, too."])
    elif not reports.events:
        sys.stderr.write("No thread is due.\n")


@memory.command(short_help="Show or set what memory does with a thread.")
def mode(
    ctx: typer.Context,
    thread: Annotated[str, typer.Argument(metavar="THREAD", help="Name of the thread.")],
    new_mode: Annotated[
        str,
        typer.Argument(
            metavar="MODE",
            help="on; read_only: nothing is learned from it; incognito: nothing is kept or "
            "recalled; off. Default: show it.",
            show_default=False,
        ),
    ] = "",
) -> None:
    """Show what memory does with a thread, or set it."""
    with opened(ctx, makes=True) as user_memory:
        if new_mode:
            user_memory.set_mode(thread, one_of("MODE", new_mode, get_args(Mode), "mode"))
        now = user_memory.store.mode(user_memory.scope, thread)
    respond(ctx, [now], {"thread": thread, "mode": now})
