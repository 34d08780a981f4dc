"""Laws of rules about paths."""

from itertools import product

from hypothesis import event, given
from hypothesis import strategies as st

from thalweg.tools.rights import FilesystemPermission, Mode, Rights, both, reaches, rights

NAMES = ("a", "b", ".c", "ab")
PATHS = ["/" + "/".join(p) for n in range(1, 4) for p in product(NAMES, repeat=n)]
STRICTNESS: dict[Mode, int] = {"allow": 0, "interrupt": 1, "deny": 2}

segments = st.sampled_from(
    ["a", "b", ".c", "ab", "*", "**", "?", "a*", "[ab]", "{a,.c}", "{a/b,ab}"]
)
patterns = st.lists(segments, min_size=1, max_size=3).map(lambda found: "/" + "/".join(found))
operations = st.sampled_from([["read"], ["write"], ["read", "write"]])
modes = st.sampled_from(["allow", "deny", "interrupt"])
rules = st.builds(
    FilesystemPermission, operations, st.lists(patterns, min_size=1, max_size=2), modes
)
layers = st.lists(rules, max_size=4)
paths = st.sampled_from(PATHS)


def strictness(given_rights: Rights, path: str) -> tuple[int, ...]:
    """Rank what may be done with a path: two ways, and deleting it as a file and as a folder."""
    return (
        STRICTNESS[given_rights.verdict("read", path)],
        STRICTNESS[given_rights.verdict("write", path)],
        bool(given_rights.forbidding(path, is_folder=False)),
        bool(given_rights.forbidding(path, is_folder=True)),
    )


@given(layers, layers, paths)
def test_a_child_may_do_nothing_that_its_parent_may_not(
    parent: list[FilesystemPermission], child: list[FilesystemPermission], path: str
) -> None:
    """Whatever rules it is given, and whatever they allow."""
    hers, its, together = (
        strictness(r, path) for r in (rights(parent), rights(child), both(parent, child))
    )

    event("the child's rules bind" if its > hers else "the parent's rules bind")
    assert together == tuple(map(max, zip(hers, its, strict=True)))


@given(layers, layers, layers, paths)
def test_layers_pile_up_in_any_grouping(
    one: list[FilesystemPermission],
    two: list[FilesystemPermission],
    three: list[FilesystemPermission],
    path: str,
) -> None:
    """A grandchild has the rights of all three, whoever put them together first."""
    left, right = both(both(one, two), three), both(one, both(two, three))

    assert strictness(left, path) == strictness(right, path)
    assert left.layers == right.layers


@given(layers, paths)
def test_the_first_rule_that_matches_decides(
    given_rules: list[FilesystemPermission], path: str
) -> None:
    """Within one layer; later rules say nothing."""
    alone = [rights([rule]) for rule in given_rules]
    reading = [rule for rule in given_rules if "read" in rule.operations]
    matching = [
        rule.mode
        for rule in reading
        if rights([FilesystemPermission(["read"], rule.paths, "deny")]).verdict("read", path)
        == "deny"
    ]

    assert len(alone) == len(given_rules)
    assert rights(given_rules).verdict("read", path) == (matching or ["allow"])[0]


@given(patterns, paths)
def test_a_pattern_reaches_a_folder_whenever_it_matches_something_there(
    pattern: str, folder: str
) -> None:
    """Of the folder, of what is in it, and of the folders above."""
    rule = rights([FilesystemPermission(["write"], [pattern], "deny")])
    family = [
        p for p in PATHS if f"{p}/".startswith(f"{folder}/") or f"{folder}/".startswith(f"{p}/")
    ]
    touched = [p for p in family if rule.verdict("write", p) == "deny"]

    event(f"{'touched' if touched else 'untouched'}")
    assert reaches(pattern, folder) or not touched


@given(layers, paths)
def test_what_may_not_be_written_may_not_be_deleted_with_its_folder(
    given_rules: list[FilesystemPermission], path: str
) -> None:
    """However deep it lies in the folder."""
    held = rights(given_rules)
    inside = [p for p in PATHS if f"{p}/".startswith(f"{path}/")]
    protected = [p for p in inside if held.verdict("write", p) == "deny"]

    assert held.forbidding(path, is_folder=True) or not protected


@given(layers)
def test_rules_that_say_nothing_of_an_operation_leave_it_alone(
    given_rules: list[FilesystemPermission],
) -> None:
    """A rule about writing hides nothing from a reader."""
    writing = [rule for rule in given_rules if rule.operations == ["write"]]

    assert {rights(writing).verdict("read", path) for path in PATHS} <= {"allow"}
