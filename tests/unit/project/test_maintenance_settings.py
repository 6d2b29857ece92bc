"""``maintain:`` in a project's files: each setting by the nearest file that has it, and what is wrong is
told.
"""

from collections.abc import Mapping

import pytest

from lakesmith.api.explaining import settings_of
from lakesmith.project.definitions import FileOrder, Maintenance, Orphans, Schedule, TableName
from lakesmith.project.loaded import LoadedProject
from lakesmith.project.loader import parse_project
from memory_files import MemoryFiles

ORDERS = "source: {files: {path: landing/orders/, format: csv}}\n"
DAY = 86400.0


def read(files: Mapping[str, str]) -> LoadedProject:
    return parse_project(MemoryFiles({"lakesmith.yaml": "name: shop\n", **files}), None, {})


def maintenance(text: str, defaults: str = "", project: str = "") -> Maintenance:
    found = read(
        {
            "lakesmith.yaml": f"name: shop\n{project}",
            "tables/bronze/_defaults.yaml": defaults or "owner: us\n",
            "tables/bronze/orders.yaml": ORDERS + text,
        }
    )
    assert found.problems == ()
    return found.project.table(TableName("bronze", "orders")).maintenance


def test_without_a_word_it_is_the_usual() -> None:
    assert maintenance("") == Maintenance(target_file_size=134_217_728, orphans=Orphans(3 * DAY))


def test_every_setting() -> None:
    text = (
        "maintain:\n  target_file_size: 64 MiB\n  strategy: z-order\n  columns: [city, day]\n  older_than: "
        "30 days\n"
        "  retain_last: 7\n  orphans: {older_than: 4 days, remove: true}\n  schedule: {every: 6 h}\n"
    )
    assert maintenance(text) == Maintenance(
        64 * 1024 * 1024,
        FileOrder.Z_ORDER,
        ("city", "day"),
        30 * DAY,
        7,
        orphans=Orphans(4 * DAY, True),
        schedule=Schedule(every=21600.0),
    )


def test_each_setting_is_that_of_the_nearest_file_that_has_it() -> None:
    found = maintenance(
        "maintain: {retain_last: 3, orphans: {remove: true}, schedule: on arrival}\n",
        "maintain: {retain_last: 5, older_than: 1 day, orphans: {older_than: 9 days}}\n",
        "defaults: {maintain: {older_than: 2 days, target_file_size: 1 GB, schedule: 0 3 * * *}}\n",
    )
    assert found == Maintenance(1_000_000_000, older_than=DAY, retain_last=3, orphans=Orphans(9 * DAY, True))


def test_the_columns_of_a_folder_do_not_concern_a_table_that_packs() -> None:
    defaults = "maintain: {strategy: sort, columns: [city]}\n"
    assert maintenance("maintain: {strategy: binpack}\n", defaults).columns == ()
    assert maintenance("", defaults).columns == ("city",)


@pytest.mark.parametrize(
    ("written", "line"),
    [
        ("target_file_size: large", "LS105 tables/bronze/orders.yaml:2: target_file_size is not a valid "
                                    "size"),
        ("target_file_size: 3 B", "LS105 tables/bronze/orders.yaml:2: target_file_size is too small"),
        ("older_than: soon", "LS105 tables/bronze/orders.yaml:2: older_than is not a valid duration"),
        ("orphans: {older_than: 1 h}", "LS105 tables/bronze/orders.yaml:2: older_than is too small"),
        ("strategy: sort", "LS105 tables/bronze/orders.yaml:2: the strategy sort needs columns"),
        ("schedule: at night", "LS105 tables/bronze/orders.yaml:2: schedule is not a cron expression"),
        ("retain_first: 3", "LS103 tables/bronze/orders.yaml:2: unknown setting"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(written: str, line: str) -> None:
    found = read({"tables/bronze/orders.yaml": ORDERS + f"maintain: {{{written}}}\n"})
    assert [problem.lines()[0][: len(line)] for problem in found.problems] == [line]


def test_explain_shows_durations_and_sizes_as_people_write_them() -> None:
    text = "freshness: 6h\nmaintain: {target_file_size: 64 MB, orphans: {remove: true}}\n"
    table = read({"tables/bronze/orders.yaml": ORDERS.replace("csv", "csv, min_age: 1.5 h") + text})
    shown = {name: value for name, value, _ in settings_of(table.project.tables[0])}
    assert shown["freshness"] == "6 hours" and shown["source.files.min_age"] == "90 minutes"
    assert shown["maintain"] == "{target_file_size: 64 MB, orphans: {remove: true}}"
