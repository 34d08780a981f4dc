"""Print what the tutorial's program costs: `uv run python -m scripts.tutorial_cost [MODEL …]`.

Runs the program of docs/tutorial.md with the client of each model's provider against a double of
that provider on the loopback, which answers as the tutorial's script does. No key is used, and
nothing leaves the machine. Prices are those of `thalweg prices`; no input token is cached.
"""

import os
import re
import sys
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from strict_llm import Answer, Request, StrictProvider
from thalweg.engine.pricing.cost import cost_of_answers
from thalweg.engine.pricing.matching import tariff_of_model
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.tokens import first_calibration
from thalweg.engine.window.model_windows import window_of_model

PAGE = Path(__file__).parents[1] / "docs" / "tutorial.md"
MODELS = ("anthropic:claude-haiku-4-5", "openai:gpt-5-mini", "anthropic:claude-opus-5")


def provider_variables(url: str) -> dict[str, str]:
    """Return the environment in which the clients of the providers reach another address."""
    keys = dict.fromkeys(("ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY"), "key")
    bases = {
        "ANTHROPIC_BASE_URL": url,
        "GOOGLE_GEMINI_BASE_URL": url,
        "OPENAI_BASE_URL": f"{url}/v1",
    }
    return {**keys, **bases}


def read_log(request: Request) -> Answer:
    """Call the tool for a question, then answer."""
    if request.ends_in_result:
        return Answer("Nothing happened that day.")
    return Answer(calls=(("read_log", {"day": int(request.last_text.split()[-1])}),))


def run_program(model: str, folder: Path) -> Usage:
    """Run the tutorial's program in a folder.

    Args:
        model: Its name, as the reader sets it; empty for the scripted model.
        folder: Where the program writes its archive.

    Returns:
        The usage, counted as the model counts; none of the scripted model.
    """
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    provider = StrictProvider(
        window=window_of_model(model) or 128_000,
        inflation=first_calibration(model).factor,
        answer=read_log,
    )
    with provider, chdir(folder), redirect_stdout(StringIO()):
        variables = provider_variables(provider.anthropic_url) | {"MODEL": model}
        with patch.dict(os.environ, variables):
            exec(compile(program, PAGE.name, "exec"), {})  # noqa: S102 (our own page)
    return Usage(
        sum(seen.tokens for seen in provider.requests),
        output=sum(seen.output_tokens for seen in provider.requests),
        calls=len(provider.requests),
        model=model,
    )


def row_of(usage: Usage) -> str:
    """Return the row of a model in the page's table."""
    cost, tariff = cost_of_answers([usage]), tariff_of_model(usage.model)
    if cost is None or tariff is None:
        message = f"{usage.model} has no price; `thalweg prices` lists the models that do"
        raise SystemExit(message)
    tokens = f"{usage.calls} | {usage.input:,} | {usage.output:,}"
    return f"| `{usage.model}` | {tokens} | ${cost:.3f} | {tariff.dated} |"


if __name__ == "__main__":
    print(
        "| model | calls | tokens in | tokens out | cost | prices of |\n|---|---|---|---|---|---|"
    )
    for name in sys.argv[1:] or MODELS:
        with TemporaryDirectory() as place:
            used = run_program(name, Path(place))
        print(row_of(used))
