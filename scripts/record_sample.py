"""Record the sample that ships with the package: a scripted session with real file tools.

    python -m scripts.record_sample [--tree FOLDER] [--out FOLDER]

No model takes part. A script plays both sides on a temporary copy of a source tree (see
`chapters`); what the tools return is real. The committed sample was recorded once and is not
meant to follow the tree.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from scripts.chapters import Session
from scripts.recorder import Recorder
from scripts.workbench import open_workbench

QUESTIONS = {
    "Ines Okafor": "Who is going to look over the code before the release?",
    "release/0.4-harbor": "From which git branch is the review done?",
    "14 May 2026": "On what date is the review?",
    "QUAY-2291": "Which ticket was the work on export lists filed under?",
    "640 kB": "What size must the built wheel stay under?",
    "https://wiki.example.org/harbor/exports": "At which wiki page are the naming rules?",
    "atlas-07.example.net": "Which host is used for staging?",
    "/srv/review/harbor-4": "Into which directory does the reviewer want the bundle?",
    "15:40": "When on Thursdays do the reviewer's office hours begin?",
    "1,092 x 1,092 pixels": "How large may a picture be before Anthropic scales it down?",
    "never below 0.5 nor above 8": "Between which bounds does a calibration ratio stay?",
    "4711-quokka": "What launch code does the contract of the archive look for?",
    "exit 137": "With which status does the gateway's deployment fail in the search tests?",
    "cache_size = -16000": "How large a page cache does a connection to SQLite ask for?",
    "at most 2**32": "How many passages can one thread have in the word index?",
    "over 32 MB": "From which size on does Anthropic turn a request body away?",
}
"""What may be asked of the recording later, by the answer."""


def record(tree: Path, out: Path) -> Recorder:
    """Play the session on a copy of a tree and write its messages.

    Args:
        tree: The source tree; it is not changed.
        out: Folder for the recording, its needles and its goals.
    """
    with tempfile.TemporaryDirectory() as folder:
        bench = open_workbench(tree, Path(folder))
        thread = Recorder(bench)
        Session(bench, thread).play()
    thread.write(out, QUESTIONS)
    return thread


def main() -> int:
    """Record, and print how much."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tree", type=Path, default=Path("packages/thalweg/src"))
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("packages/thalweg-recorder/src/thalweg_recorder/replay/sample"),
    )
    options = parser.parse_args()
    thread = record(options.tree, options.out)
    turns = sum(message["role"] == "assistant" for message in thread.messages)
    found = len(thread.needles(QUESTIONS))
    print(f"{len(thread.messages)} messages, {turns} turns, {found} of {len(QUESTIONS)} needles")
    return 0


if __name__ == "__main__":
    sys.exit(main())
