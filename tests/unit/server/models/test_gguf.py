"""What is read of a GGUF file, and what is made of one that is broken."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.server.models.gguf_files import TINY, gguf

from thalweg.errors import ConfigError
from thalweg.server.models.local.gguf import read_gguf


def test_a_file_says_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(TINY)
    tiny = read_gguf(path)

    assert (tiny.name, tiny.context) == ("Tiny", 2_048)
    assert tiny.template.startswith("{% for m")


@given(length=st.integers(0, len(TINY) - 1))
def test_a_file_that_is_cut_off_anywhere_is_refused(
    tmp_path_factory: pytest.TempPathFactory, length: int
) -> None:
    path = tmp_path_factory.mktemp("cut") / "tiny.gguf"
    path.write_bytes(TINY[:length])

    with pytest.raises(ConfigError, match="not a readable GGUF file"):
        read_gguf(path)


@given(st.binary(max_size=200))
def test_any_bytes_behind_the_magic_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes
) -> None:
    """Counts and lengths are made up in a hostile file: none of them is believed."""
    path = tmp_path_factory.mktemp("noise") / "noise.gguf"
    path.write_bytes(b"GGUF\x03\0\0\0" + noise)
    with suppress(ConfigError):
        read_gguf(path)


@pytest.mark.parametrize(
    ("name", "template", "words"),
    [
        ("Any", "", "none: a base model, it cannot chat"),
        ("Any", "<|im_start|>", "does not call tools well"),
        ("Qwen2.5 Coder 1.5B Instruct", "<|im_start|> tools", "does not call tools well"),
        ("Qwen3 4B", "<|im_start|> if tools", "calls tools"),
        ("Llama 2", "[INST]", "does not call tools well"),
    ],
)
def test_a_template_shows_whether_a_model_calls_tools(
    tmp_path: Path, name: str, template: str, words: str
) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(
        gguf(
            {
                "general.name": name,
                "general.architecture": "x",
                "tokenizer.chat_template": template,
            }
        )
    )
    assert read_gguf(path).abilities == words
