"""Confirmation before something is deleted."""

import sys

from thalweg.errors import ConfigError

UNCHANGED = "Nothing was changed."


def ask_confirmation(question: str, purpose: str) -> bool:
    """Ask for confirmation; return the answer. Anything but `y` and `yes` is a no.

    Args:
        question: The question.
        purpose: What `--yes` is for, in the error.

    Raises:
        ConfigError: There is no terminal.
    """
    if not sys.stdin.isatty():
        raise ConfigError("--yes", "there is no terminal to ask in", f"pass it {purpose}")
    sys.stdout.write(f"{question} [y/N]: ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def confirm(question: str, purpose: str, *, yes: bool, refusal_text: str) -> None:
    """Ask for confirmation unless `--yes` is passed; end the command if the answer is no.

    Args:
        question: The question.
        purpose: The purpose of `--yes`, for the error.
        yes: Whether `--yes` is passed.
        refusal_text: Text to print if the answer is no.

    Raises:
        ConfigError: There is no terminal.
        SystemExit: The answer is no; with exit code 2.
    """
    if not yes and not ask_confirmation(question, purpose):
        sys.stderr.write(f"{refusal_text}\n")
        raise SystemExit(2)
