"""Names of files that people send."""

import pytest

from thalweg.errors import UploadRefusedError
from thalweg_server.uploads.names import MAX_NAME_BYTES, safe_name, unlike


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("report.pdf", "report.pdf"),
        ("Zu\u0308rich 東京.md", "Zürich 東京.md"),
        (" a  b .txt ", "a  b .txt"),
        ("trailing. . ", "trailing"),
        ('a<b>:"c|d?e*.txt', "a_b___c_d_e_.txt"),
        (".bashrc", "_.bashrc"),
        ("-rf", "_-rf"),
        ("~root", "_~root"),
        ("a\uff0fb\u2215c\u2100.txt", "a_b_c_.txt"),
        ("%2e%2e%2fpasswd", "%2e%2e%2fpasswd"),
        ("a\u00a0b.txt", "a b.txt"),
        ("con man.txt", "con man.txt"),
        ("می‌خواهم.txt", "می‌خواهم.txt"),
    ],
)
def test_a_name_stays_readable(sent: str, kept: str) -> None:
    """Only what some system takes to mean something else is replaced."""
    assert safe_name(sent) == kept


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        ("", "it has none"),
        ("../a.txt", "a path"),
        ("/etc/passwd", "a path"),
        ("C:\\a.txt", "a path"),
        ("a\0.txt", "invisible"),
        ("a\n.txt", "invisible"),
        ("\u202etxt.exe", "invisible"),
        ("a\u200b.txt", "invisible"),
        ("a\ud800.txt", "invisible"),
        ("a\u2028.txt", "invisible"),
        ("..", "no valid character"),
        (". .", "no valid character"),
        ("\u2025", "no valid character"),
        ("CON", "Windows reserves"),
        ("nul.txt", "Windows reserves"),
        ("Com1.tar.gz", "Windows reserves"),
        ("LPT¹.md", "Windows reserves"),
    ],
)
def test_a_name_that_deceives_is_refused(sent: str, problem: str) -> None:
    """And is shown without what is invisible."""
    with pytest.raises(UploadRefusedError, match=problem) as refused:
        safe_name(sent)
    assert refused.value.name.isprintable()


def test_a_long_name_keeps_its_ending() -> None:
    """Cut between characters."""
    kept = safe_name("ü" * 300 + ".docx")
    assert kept.endswith("ü.docx")
    assert len(kept.encode()) <= MAX_NAME_BYTES


def test_a_name_that_is_taken_is_numbered() -> None:
    """Also where another differs by small and large letters, or is long already."""
    assert unlike("a.txt", ["A.TXT", "a (2).txt"]) == "a (3).txt"
    assert unlike("Straße", ["STRASSE"]) == "Straße (2)"
    long = safe_name("n" * 300 + ".txt")
    numbered = unlike(long, [long])
    assert numbered.endswith("n (2).txt")
    assert len(numbered.encode()) <= MAX_NAME_BYTES
