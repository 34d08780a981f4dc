"""The numbers of the section on files are those of the code."""

from pathlib import Path

from thalweg_server.uploads.intake import UploadPolicy

PAGE = (Path(__file__).parents[2] / "docs" / "gateway.md").read_text(encoding="utf-8")


def test_the_numbers_are_those_of_the_policy() -> None:
    policy = UploadPolicy()
    mib = 1 << 20
    for told in (
        f"{policy.max_expanded_bytes // mib} MiB",
        f"{policy.max_expansion}-fold",
        f"{policy.max_file_bytes // mib} MiB",
        f"{policy.max_files} files",
        f"{policy.max_thread_bytes // mib} MiB in the thread",
        f"{policy.convert_timeout_s:g} s",
        f"{policy.convert_memory_bytes // mib // 1024} GiB",
    ):
        assert told in PAGE, told
