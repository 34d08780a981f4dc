"""A thread as Markdown, for people."""

import pytest

from core_tests.unit.archive.threads.driver import KEY
from thalweg.archive import Logged, open_archive
from thalweg.archive.threads.thread_export import export
from thalweg.engine.entries import Media, Message


@pytest.mark.parametrize(
    ("media", "shown"),
    [
        (Media("image/png", url="https://example.org/a.png"), "](<https://example.org/a.png>)"),
        (Media("image/png", data="iVBO"), "![image/png](<data:image/png;base64,iVBO>)"),
        (Media("application/pdf", data="JVBE"), "\n[application/pdf](<data:application/pdf;base64"),
    ],
)
def test_media_are_links_to_their_address_or_their_content(media: Media, shown: str) -> None:
    with open_archive(":memory:") as archive:
        archive.append(KEY, [Logged(Message("user", (media,)))])

        assert shown in "".join(export(archive, KEY, "markdown"))
