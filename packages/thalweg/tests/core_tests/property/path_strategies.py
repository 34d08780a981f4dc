"""Paths as a model or an attacker may write them, folders with links, and globs."""

from hypothesis import strategies as st

NEST = "heron-nest"
NAMES = ("a", "b", "c.txt")
LINKS = ("l0", "l1", "l2")
ODD_NAMES = (*NAMES, *LINKS, "..", ".", "", "~", "outside", "root", "\0", "C:", "..b")

texts = st.text(st.characters(codec=None, exclude_categories=()), max_size=40)
paths = st.one_of(
    texts,
    st.lists(st.sampled_from(ODD_NAMES), max_size=6).map("/".join),
    st.lists(st.sampled_from(ODD_NAMES), max_size=6).map(lambda names: "/" + "/".join(names)),
    st.lists(st.sampled_from(("a", "..", "\\", "l0")), max_size=6).map("\\".join),
)
insides = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
targets = st.sampled_from(
    (
        "{outside}", "{outside}/secret.txt", "../outside", "../../outside/secret.txt", "..",
        "../..", "/", ".", "a", "a/b", "../a", "{root}", "{root}/a", "{root}/../outside",
        "l0", "l1", "l2", "l0/secret.txt", "nowhere", "../root/a", "b/../../outside",
    )
)  # fmt: skip
links = st.tuples(st.sampled_from((*LINKS, "a/l1", "b/l2", "a/b/l0")), targets)
folders = st.tuples(st.lists(insides, max_size=4), st.lists(links, max_size=5))
Folders = tuple[list[str], list[tuple[str, str]]]


trees = st.lists(
    st.lists(
        st.sampled_from(("a", "b", ".d", "x.py", "y.md", "[z]", "a b")), min_size=1, max_size=3
    ).map("/".join),
    max_size=6,
)
pieces = st.sampled_from(
    ("*", "**", "?", "a", "b", ".d", ".", "x", ".py", "[ax]", "[!a]", "{a,b}", "{x,y}.*", "/", "z",
     "[[]", "]", "{", "}", ",", "\\", "!", "a b", "")
)  # fmt: skip
patterns = st.one_of(st.lists(pieces, max_size=6).map("".join), texts)
