"""The columns of a file, as the file itself says them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from lakesmith.project.definitions import CsvOptions
from lakesmith.sources.model import FileIdentity


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the records of a text file are. ``is_stream``: they are JSON values, not lines.
    ``lines_before``: the lines before the first record, if they are not just a header. ``fields``: of a log
    the names of its fields, from which its columns are made. ``padded``: it is a file of gzip with zeros
    after a member, which Hadoop's reader refuses."""

    is_stream: bool = False
    lines_before: int | None = None
    fields: tuple[str, ...] = ()
    padded: bool = False

    def first_record(self, csv: CsvOptions) -> int:
        return int(csv.header) if self.lines_before is None else self.lines_before


USUAL: Final = Layout()


@dataclass(frozen=True, slots=True)
class FileShape:
    """The columns of a file, in the file's order.

    ``types`` are Spark SQL types (or of ``sources.file_types``), None if the format has none (CSV) or Spark
    has none for it; those columns are in ``unreadable``, with the format's types. A file without a header and
    a JSON file have no columns here. ``empty``: there is not one row in it (no byte, only blank lines, only a
    header). ``together``: None for a file, whose columns are in each of its rows. For records that name their
    own columns, ``columns`` are the names in any of them, and ``together`` the alike ones (``rival_names``)
    in one record. ``path_keys``: the names that its path has values for. ``absent``: the columns of a log
    that none of its first lines has; later ones may have them. ``by_rows``: Spark's
    vectorised reader lacks something that the file has, and its slower reader of rows has it.
    that none of its first lines has; later ones may have them. ``reader``: the schema to read an Avro file
    by, if that is not its own.
    """

    columns: tuple[str, ...] = ()
    types: tuple[str | None, ...] = ()
    empty: bool = False
    unreadable: tuple[tuple[str, str], ...] = ()
    together: tuple[tuple[str, ...], ...] | None = None
    layout: Layout = USUAL
    path_keys: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    by_rows: bool = False
    reader: str = ""


@dataclass(frozen=True, slots=True)
class ShapeGroup:
    """Files of one shape, in the order given. ``shape.empty``: they have no row."""

    shape: FileShape
    files: tuple[FileIdentity, ...]


def path_keys(path: str) -> tuple[str, ...]:
    """Returns the names that a file's path has values for, of folders called ``name=value``, as Hive and
    Spark write them.

    >>> path_keys("in/dt=2024-05-01/my%20station=7/a.csv")
    ('dt', 'my station')
    """
    folders = (folder.partition("=") for folder in path.split("/")[:-1])
    return tuple(dict.fromkeys(unquote(name) for name, sign, _ in folders if sign and name))


class UnreadableFile(Exception):
    """A file is not what its source declares. ``code`` is the problem's code, the others its parts."""

    def __init__(self, code: str, what: str, expected: str, found: str, hint: str = "") -> None:
        super().__init__(f"{code} {what}: expected {expected}, found {found}")
        self.code, self.what, self.expected, self.found, self.hint = code, what, expected, found, hint


def check_names(columns: tuple[str, ...]) -> None:
    """Raises UnreadableFile LS424 for a column without a name, LS423 for two of one name."""
    if "" in map(str.strip, columns):
        number = [name.strip() for name in columns].index("") + 1
        raise UnreadableFile(
            "LS424",
            "a column has no name",
            "a name for every column",
            f"none for column {number} of {len(columns)}",
            "name it in the file (a delimiter too many at the end of the header makes one); or set"
            " `on_new_column: ignore`, which leaves it "
            "out, `skip_lines` if other lines come before the header, or `header: false`",
        )
    if len(set(columns)) < len(columns):
        twice = next(name for number, name in enumerate(columns) if name in columns[:number])
        raise UnreadableFile(
            "LS423",
            "two columns have one name",
            "each column named once",
            f"{twice!r} as columns {_numbers(columns, twice)}",
            "rename one of them in the file",
        )


def _numbers(columns: tuple[str, ...], name: str) -> str:
    return " and ".join(str(number) for number, column in enumerate(columns, 1) if column == name)
