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
from thalweg_memory.cli.options import (
    Dry,
    Kind,
    MemoryGroup,
    MemoryOptions,
    Sure,
    Words,
    memory_options,
    opened,
    share_of,
)
from thalweg_memory.cli.text import (
    plain_change,
    plain_fact,
    plain_operation,
    plain_profile,
    plain_recalled,
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
from thalweg_memory.facts.values import Category, Change, Fact, Mode, RemoveFact, Status
from thalweg_memory.handle import Memory
from thalweg_memory.store.records import Operation, new_fact_id, utc_now

CATEGORIES = get_args(Category)
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
    """Show the profile and the valid facts; with an ID, one fact and its source.

    The exit code is 2 if the document of the memory cannot be read: its edits are not shown.
    """
    with opened(ctx, needs_document=True) as user_memory:
        if name:
            fact = user_memory.fact(name)
            respond(ctx, render_full_fact(fact), plain_fact(fact))
            return
        profile = user_memory.profile()
        statuses: tuple[Status, ...] = get_args(Status) if everything else ("active",)
        facts = user_memory.facts(*statuses)
        plain = {"profile": plain_profile(profile), "facts": [plain_fact(fact) for fact in facts]}
        nothing = "Nothing is remembered here."
        respond(ctx, render_memory(profile, facts), plain, empty_message=nothing)


@memory.command(short_help="Search memory with a question.")
def search(
    ctx: typer.Context,
    words: Words,
    *,
    why: Annotated[
        bool, typer.Option("--why", help="Every candidate, and why it is recalled or is not.")
    ] = False,
) -> None:
    """Show the items that an agent gets for a message of these words, best first."""
    with opened(ctx) as user_memory:
        find = user_memory.explain if why else user_memory.search
        found = find(" ".join(words))
    lines = render_explained(found) if why else render_recalled(found)
    nothing = "Nothing in memory relates to it."
    respond(ctx, lines, plain_recalled(found), empty_message=nothing)


@memory.command(short_help="Remember something, or correct a fact.")
def add(
    ctx: typer.Context,
    content: Annotated[
        str | None,
        typer.Argument(
            metavar="CONTENT", help='One statement: "User prefers tea".', show_default=False
        ),
    ] = None,
    *,
    replace: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="Change this fact; what is not passed remains.", show_default=False
        ),
    ] = None,
    category: Kind = None,
    confidence: Sure = None,
    protected: Annotated[
        bool | None,
        typer.Option(
            "--protect/--no-protect", help="Whether it may be evicted when memory is full."
        ),
    ] = None,
) -> None:
    """Remember a statement on your own word; with --replace, correct a fact.

    The history keeps the former text, category and confidence of a corrected fact.
    """
    named = None if category is None else one_of("--category", category, CATEGORIES, "category")
    share = None if confidence is None else share_of(confidence)
    if content is None and replace is None:
        raise ConfigError("CONTENT", "nothing to remember is passed", "pass one statement")
    with opened(ctx, makes=replace is None) as user_memory:
        if replace is not None:
            fact = user_memory.edit(
                replace, content=content, category=named, confidence=share, protected=protected
            )
        else:
            fact = user_memory.remember(
                content or "",
                category=named or "knowledge",
                confidence=1.0 if share is None else share,
                protected=bool(protected),
            )
    respond(ctx, render_fact(fact), plain_fact(fact))


@memory.command(short_help="Delete facts, or all; undo restores them.")
def delete(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="Of facts, as listed.")
    ] = None,
    *,
    everything: Annotated[bool, typer.Option("--all", help="All facts and the profile.")] = False,
    forever: Annotated[
        bool,
        typer.Option(
            "--forever", help="With evidence, index, history and jobs; nothing restores it."
        ),
    ] = False,
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
    dry_run: Dry = False,
    yes: Yes = False,
) -> None:
    """Take facts out of the memory; the history keeps them, and `undo` restores them.

    With --forever nothing restores them, and they are not learned again from the same messages;
    --thread, --message and --query need it. The threads themselves are kept: see
    `thalweg thread delete`.
    """
    if not forever:
        selectors = {"--thread": threads, "--message": messages, "--query": query}
        if passed := [option for option, value in selectors.items() if value]:
            raise ConfigError(passed[0], "an undo restores facts alone", "pass --forever")
        if bool(names) == everything:
            raise ConfigError("ID", "name facts or all", "pass an ID, or --all")
        _delete(ctx, names or (), everything=everything, dry_run=dry_run, yes=yes)
        return
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
                "Delete all this permanently?",
                "to delete permanently",
                yes=yes,
                refusal_text=UNCHANGED,
            )
            receipt = erase()
            if not wants_json(ctx):
                print_lines(render_receipt(receipt))
    if wants_json(ctx):
        print_json(asdict(receipt))


def _delete(
    ctx: typer.Context, names: Sequence[str], *, everything: bool, dry_run: bool, yes: bool
) -> None:
    """Delete facts, or all and the profile, so that it can be undone."""
    with opened(ctx) as user_memory:

        def plan(had: MemorySnapshot) -> Sequence[Change]:
            if everything:
                return plan_clear(had.facts, had.profile, now=utc_now())
            return plan_delete(had.facts, names)

        planned = planned_changes(user_memory, plan)
        known = facts_by_id(user_memory, [one.id for one in planned if isinstance(one, RemoveFact)])
        if everything and not dry_run:
            question = f"Delete all {len(planned):,} facts and texts?"
            confirm(question, "to delete all", yes=yes, refusal_text=UNCHANGED)
        change = user_memory.clear if everything else partial(user_memory.delete, *names)
        done = None if dry_run else change()
    print_changes(ctx, planned, done, known, dry_run=dry_run)


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
    """Write the valid facts and the profile as a document of DeerFlow's form."""
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


@memory.command(short_help="Show or set what is learned from a thread.")
def learn(
    ctx: typer.Context,
    *,
    thread: Annotated[str, typer.Option(metavar="ID", help="The thread.", show_default=False)],
    mode: Annotated[
        str,
        typer.Option(
            metavar="MODE",
            help="on; read_only: nothing is learned from it; incognito: nothing is kept or "
            "recalled; off.",
        ),
    ] = "",
) -> None:
    """Show the mode of a thread, or set it."""
    with opened(ctx, makes=bool(mode)) as user_memory:
        if mode:
            user_memory.set_mode(thread, one_of("--mode", mode, get_args(Mode), "mode"))
        now = user_memory.store.mode(user_memory.scope, thread)
    respond(ctx, [now], {"thread": thread, "mode": now})
