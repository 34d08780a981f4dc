"""Tokens are bounded by bytes where the exact counter cannot be loaded."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.engine.tokens import byte_counter, exact_counter

ENCODINGS = ("o200k_base", "cl100k_base")
DENSE = (
    *(
        "",
        "\x00\x01\x02",
        "\ud83d half an emoji",
        "\u0e01\u0e33" * 40,
        "\U0001f468\u200d\U0001f469",
    ),
    *(
        "0123456789" * 9,
        " " * 80,
        "\n\t \r\n" * 20,
        "<|endoftext|>",
        "\u4e0a\u4e0b\u6587" * 30,
        "\ufffd" * 20,
    ),
)
PROGRAM = """
import warnings
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    from thalweg.engine.window.budget import Budget
    from thalweg.engine.tokens import exact_counter
    count = exact_counter()
print(count("na\u00efve"), len(seen), seen[0].message)
"""


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=st.text(st.characters(), max_size=300) | st.sampled_from(DENSE))
def test_no_text_has_more_tokens_than_the_bound(encoding: str, text: str) -> None:
    assert byte_counter(text) >= exact_counter(encoding)(text)


@pytest.mark.parametrize("binary", [None, b"no library", b"\x7fELF\x02\x01\x01"])
def test_a_missing_or_broken_wheel_is_reported_and_does_no_harm(
    tmp_path: Path, binary: bytes | None
) -> None:
    """The package in front of the installed one has no compiled part, or one of no platform."""
    package = tmp_path / "bpe_openai"
    package.mkdir()
    (package / "__init__.py").write_text("")
    if binary is not None:
        (package / "_bindings.abi3.so").write_bytes(binary)
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}){PROGRAM}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("6 1 bpe-openai cannot be loaded (")
    assert "pip install" in done.stdout
