"""The examples in `docs/models.md` are read unchanged, and its figures are counted."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from thalweg.engine.tokens import exact_counter
from thalweg.testing import ScriptedModel
from thalweg_agent.graph import create_deep_agent, create_small_agent
from thalweg_server.settings import load_settings

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")


def test_the_models_of_the_page_are_settings(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    file = tmp_path / "config.yaml"
    file.write_text(example, encoding="utf-8")
    keys = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o"}
    models = load_settings(file, environ=keys).models

    assert [one.name for one in models] == ["sonnet", "mini", "house", "small"]
    assert models[1].arguments() == {"temperature": 0.2}


class Listening(ScriptedModel):
    """Notes the tools that it is offered."""

    offered: list[str]

    def bind_tools(self, tools: Sequence[Any], **kwargs: object) -> "Listening":
        """Note them."""
        del kwargs
        schemas = map(convert_to_openai_tool, tools)
        self.offered[:] = [
            json.dumps(one, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
            for one in schemas
        ]
        return self


def test_the_tokens_of_both_agents_are_those_of_the_page() -> None:
    count, rows = exact_counter(), list[str]()
    for create in (create_deep_agent, create_small_agent):
        seen: list[BaseMessage] = []

        def script(messages: Sequence[BaseMessage], seen: list[BaseMessage] = seen) -> str:
            seen[:] = messages
            return "Done."

        model = Listening(script=script, offered=[])
        create(model, archive=":memory:").invoke({"messages": [("user", "Hi.")]})
        tools, words = sum(map(count, model.offered)), count(seen[0].text)
        rows.append(f"| `{create.__name__}` | {tools:,} | {words:,} | {tools + words:,} |")

    assert [row for row in rows if row not in PAGE] == []
