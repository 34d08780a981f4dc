"""Skills that are put into the conversation because the user, or a tool, named them."""

import html
import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.types import Overwrite

from thalweg_agent.backends.protocol import FileDownloadResponse
from thalweg_agent.skills.format import MAX_SKILL_FILE_SIZE, SkillMetadata, split_front_matter
from thalweg_agent.tools.asking import BackendRequest, Steps

PINNED = "pinned_skill"
"""Value of `lc_source` in such a message: the harness wrote it, not the user."""


def pin_skills(names: Sequence[str], skills: Sequence[SkillMetadata]) -> Steps[dict[str, Any]]:
    """Read the skills named, each once, and make the update that pins them.

    A name that no skill has is passed over, as is a skill that cannot be read.
    """
    by_name = {skill["name"]: skill for skill in skills}
    pinned = [by_name[name] for name in dict.fromkeys(names) if name in by_name]
    paths = [skill["path"] for skill in pinned]
    answers = (yield BackendRequest("download_files", (paths,))) if paths else []
    update: dict[str, Any] = {"pinned_skills": Overwrite([])}
    rows = zip(pinned, answers, strict=True)
    messages = [message for skill, answer in rows if (message := _message(skill, answer))]
    if messages:
        update["messages"] = messages
    return update


def _message(skill: SkillMetadata, answer: FileDownloadResponse) -> HumanMessage | None:
    content = answer.content
    if answer.error or not content or len(content) > MAX_SKILL_FILE_SIZE:
        return None
    try:
        _, body = split_front_matter(content.decode("utf-8"))
    except UnicodeDecodeError:
        return None
    name, path = (html.escape(text, quote=True) for text in (skill["name"], skill["path"]))
    text = re.sub(r"\A\s*\n", "", body).rstrip()
    pinned = {"name": skill["name"], "path": skill["path"], "description": skill["description"]}
    return HumanMessage(
        f'<skill name="{name}" path="{path}">\n{_fenced(text)}\n</skill>',
        additional_kwargs={"lc_source": PINNED, "skill": pinned},
    )


def _fenced(text: str) -> str:
    return re.sub(r"<(?=\s*/\s*skill\b)", r"<\\", text, flags=re.IGNORECASE)
