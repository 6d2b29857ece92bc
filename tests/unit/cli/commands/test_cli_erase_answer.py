"""The first answer of ``erase``: every table that has the columns, and what becomes of each landing file."""

from pathlib import Path
from types import SimpleNamespace as Some
from typing import Any

from lakesmith.api.erasing import _preview
from lakesmith.api.erasure_work import Landing, Work
from lakesmith.cli.commands.erase import _lines
from lakesmith.errors import Place
from lakesmith.execute.erase import Erasure
from lakesmith.execute.landing_erase import LandingFile
from lakesmith.project.definitions import FileSource, OnErase, TableName
from lakesmith.project.formats import FileFormat
from lakesmith.sources.model import FileIdentity
from lakesmith.sql.erasure_filter import ErasureFilter

PEOPLE, VISITS, ORDERS, SILVER, NEW = (
    TableName("bronze", "people"), TableName("bronze", "visits"), TableName("bronze", "orders"),
    TableName("silver", "people"), TableName("bronze", "new"),
)  # fmt: skip


def file(name: str, choice: OnErase, records: tuple[int, int], taken: bool = True) -> LandingFile:
    source = FileSource("files", "landing", FileFormat.CSV, Place(Path("t.yaml"), 1), on_erase=choice)
    now = FileIdentity(f"landing/{name}", 1, 1, 1, 1)
    return LandingFile(PEOPLE, now, source, now if taken else None, *records)


def test_every_table_with_the_columns_and_every_file_is_named() -> None:
    erasure = Erasure(
        SILVER,
        ErasureFilter(("email",), (("ada@x.com",),)),
        sourced=(PEOPLE,),
        tables=(PEOPLE, SILVER),
        others=(VISITS, NEW),
        besides=(ORDERS,),
    )
    files = (
        file("a.csv", OnErase.REWRITE, (1, 2)), file("b.csv", OnErase.REWRITE, (2, 2)),
        file("c.csv", OnErase.REMOVE, (1, 2)), file("d.csv", OnErase.REMOVE, (1, 2), taken=False),
        file("e.csv", OnErase.KEEP, (1, 2)), file("f.csv", OnErase.REWRITE, (0, 2)),
    )  # fmt: skip
    found: Any = Some(rows={PEOPLE: 3, SILVER: 1, VISITS: 2}, bad_rows={})
    graph = Some(node=lambda name: Some(definition=Some(name=name, is_sourced=True, lookups=())))
    opened: Any = Some(graph=graph, project=Some(target=Some(type="local")))
    session: Any = None
    lines = list(_lines(_preview(Work(opened, erasure, session, found, Landing(files), lambda _: None))))
    assert lines == [
        "bronze.people: 3 rows (deleted)",
        "silver.people: 1 row (follows)",
        "bronze.visits: 2 rows of theirs, and silver.people is not made from it"
        " (--also bronze.visits erases from it as well,"
        " --except bronze.visits says that email means something else there)",
        "bronze.new: never run, and silver.people is not made from it (nothing is erased from it)",
        "bronze.orders: left out, as asked",
        "landing/a.csv: is rewritten without them",
        "landing/b.csv: is removed: it has no other records",
        "landing/c.csv: is removed",
        "landing/d.csv: is rewritten without them",
        "landing/e.csv: is kept, as declared",
        "the past of 2 tables before now goes: no query --as-of and no rollback reaches behind it",
    ]
