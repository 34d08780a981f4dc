"""The package strict-llm installed alone: it needs nothing of ours, and serves a real client."""

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "packages" / "strict-llm"
SERVES = """
from importlib.util import find_spec

import openai

from strict_llm import Answer, StrictProvider

with StrictProvider(answer=lambda request: Answer(f"echo: {request.last_text}")) as provider:
    client = openai.OpenAI(base_url=provider.openai_url, api_key="any", max_retries=0)
    messages = [{"role": "user", "content": "hello"}]
    done = client.chat.completions.create(model="any", messages=messages)
    try:
        client.chat.completions.create(model="any", messages=[{"role": "tool", "content": "x"}])
    except openai.BadRequestError as refused:
        print(refused.status_code)
    client.close()
print(done.choices[0].message.content, find_spec("thalweg"))
"""


def test_no_dependency_is_a_package_of_ours() -> None:
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = [each.partition(">")[0] for each in project["dependencies"]]
    assert names == ["bpe-openai", "pypdf"]
    assert "optional-dependencies" not in project


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_it_serves_a_client_where_nothing_of_ours_is_installed(tmp_path: Path) -> None:
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("uv, which makes the environment, is not installed")
    python = tmp_path / "env/bin/python"
    subprocess.run([uv, "venv", "-q", tmp_path / "env"], check=True)
    subprocess.run(
        [uv, "pip", "install", "-q", "--python", python, PACKAGE, "openai>=3,<4"],
        cwd=tmp_path,
        check=True,
    )
    done = subprocess.run(
        [python, "-W", "error::ResourceWarning", "-c", SERVES],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "400\necho: hello None\n"), done.stderr
    listed = subprocess.run(
        [uv, "pip", "list", "-q", "--python", python], capture_output=True, text=True, check=True
    )
    assert "thalweg" not in listed.stdout
