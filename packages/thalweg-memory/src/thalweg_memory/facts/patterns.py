"""Words of several languages that texts are searched for, from the tables next to the modules."""

from thalweg.engine.data_files import read_table


def read_patterns(package: str, name: str) -> dict[str, str]:
    """Read regular expressions by name; in a table, a long one has several lines.

    Args:
        package: The package that holds the table: `__package__` of the caller.
        name: Of the table, without its ending.
    """
    table = read_table(package, f"{name}.toml")
    return {key: text.replace("\n", "") for key, text in table.items()}
