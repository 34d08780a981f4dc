"""The words that the gates look for, in several languages, from the tables next to the modules."""

from thalweg.engine.data_files import read_table


def read_patterns(name: str) -> dict[str, str]:
    """Read regular expressions by name; in a table, a long one has several lines."""
    table = read_table(__package__, f"{name}.toml")
    return {key: text.replace("\n", "") for key, text in table.items()}
