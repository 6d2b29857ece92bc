"""After an erasure no bytes or names in the project, its caches and session folders tell of the person."""

import gzip
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import places
import processes
import pytest
from harness import fail
from left_behind import names_and_mentions
from shared_project import Make, SharedProject

from lakesmith.execute import faults

ADA, BO, CY, DI = (f"{name}@example.com" for name in ("ada.l", "bo", "cy", "di"))
WORDS = (ADA, "ada.l%40example.com", "customer=1002")
FILES = {
    "tables/bronze/people.yaml": """
        source:
          files: {path: landing/people/, pattern: "*.csv", on_erase: rewrite}
        columns: {customer_id: bigint, email: string, city: string}
        partition_by: [email]
        """,
    "tables/silver/people.yaml": """
        key: [customer_id]
        query: SELECT customer_id, email, city FROM bronze.people
        """,
    "tables/bronze/visits.yaml": """
        source:
          files: {path: landing/visits/, pattern: "*.json.gz", format: json, on_erase: remove}
        columns: {email: string, page: string}
        """,
    "tables/gold/pages.sql": "SELECT v.page, p.city, count(*) AS n FROM bronze.visits v JOIN silver.people p"
    " ON v.email = p.email GROUP BY ALL\n",
}
Person = tuple[int, str, str]
ROWS: dict[str, list[Person]] = {
    "f0001.csv": [(1002, ADA, "Ulm"), (7, BO, "Bonn"), (8, CY, "Bonn")],
    "customer=1002/p.csv": [(1002, ADA, "Ulm")],
    f"{ADA}.csv": [(1002, ADA, "Ulm")],
    f"old/{ADA}-2.csv": [(1002, ADA, "Ulm"), (9, DI, "Köln")],
}
WHERE = ("--where", f"email = '{ADA}'", "--yes", "--json")


def csv(rows: Iterable[Person]) -> str:
    return "customer_id,email,city\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows)


def visits(*pairs: tuple[str, str]) -> bytes:
    return gzip.compress(
        "".join(json.dumps(dict(zip(("email", "page"), each, strict=True))) + "\n" for each in pairs).encode()
    )


@pytest.fixture(params=[places.EMBEDDED])
def place() -> places.Place:
    return places.embedded()


@pytest.fixture
def shop(make: Make) -> SharedProject:
    """All that an erasure may meet, and must not leave."""
    shop = make(FILES)
    for name, rows in ROWS.items():
        shop.land(f"people/{name}", csv(rows) + f"x,{ADA},no number\n" * (name == "f0001.csv"))
    shop.take("visits/v.json.gz", visits((ADA, "/a"), (BO, "/b")))
    shop.unland(f"people/old/{ADA}-2.csv")
    return shop


def interrupted(shop: SharedProject) -> None:
    """An erasure that is killed once it has rewritten a file, and another one that rewrites the same file."""

    faults.arrange("after-delete", fail, "bronze.people")
    assert shop.call("erase", "silver.people", *WHERE).code == 1
    faults.clear()
    other = shop.call(
        "erase", "silver.people", "--where", f"email = '{BO}'", "--yes", "--json", "--except", "bronze.visits"
    )
    assert other.code == 0, other
    shop.take("people/again.csv", csv(ROWS["f0001.csv"]))
    shop.land("people/later.csv", csv([(1002, ADA, "Ulm"), (10, DI, "Ulm")]))
    shop.land("people/.f0001.csv.999999999-1.tmp", csv(ROWS["f0001.csv"]))
    shop.land("people/half.csv.part", csv(ROWS["f0001.csv"]))
    state = shop.root / ".lakesmith"
    shop.write({".lakesmith/logs/spark.log": f"cannot read landing/people/{ADA}.csv\nanother line\n"})
    (state / "erasures/0123.json").write_text(
        json.dumps({"landing": [{"file": f"landing/people/{ADA}.csv"}]})
    )
    (state / "up.json").write_text(json.dumps({"problem": f"landing/people/{ADA}.csv"}))
    os.utime(state / "up.json", (0, 0))


def erased(shop: SharedProject, sessions: Path, *words: str) -> tuple[int, Any]:
    """A process of its own, with sessions' folders of its own."""
    with pytest.MonkeyPatch.context() as here:
        here.setenv("TMPDIR", str(sessions))
        ended = processes.run(shop.root, command=("erase", "silver.people", *WHERE, *words))
    assert ended.output.startswith("{"), ended.output
    return ended.code, json.loads(ended.output)


@pytest.mark.release
def test_nothing_tells_of_them_any_more(shop: SharedProject, tmp_path: Path) -> None:
    interrupted(shop)
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    code, said = erased(shop, sessions)
    left = "\n".join(said["proof"]["left"])
    assert code == 1, said
    assert "bronze.visits has 1 row of theirs: --also bronze.visits" in left
    assert "landing/people/half.csv.part, which no table takes, has values of theirs" in left
    assert len(said["proof"]["left"]) == 3, left

    (shop.root / "landing/people/half.csv.part").unlink()
    code, said = erased(shop, sessions, "--also", "bronze.visits")
    assert (code, said.get("proof", {}).get("left")) == (0, []), said
    assert names_and_mentions(shop.root, WORDS) == []
    assert names_and_mentions(sessions, WORDS) == []
    assert [path for path in sessions.iterdir() if "session" in path.name] == []
    assert "begun and not ended" not in shop.must("status").out

    shop.must_run()
    assert sorted(row[:2] for row in shop.rows("bronze.people")) == [(8, CY), (8, CY), (9, DI), (10, DI)]
    assert shop.rows("gold.pages") == []
    shop.land(f"people/old/{ADA}-2.csv", csv(ROWS[f"old/{ADA}-2.csv"]))
    assert [problem.code for problem in shop.run().problems] == []
    assert len(shop.rows("bronze.people")) == 4, "a file is taken once, whatever became of its name"
    shop.must("verify")


def test_names_that_tell_of_a_number_also_in_tables_without_the_column(make: Make) -> None:
    notes = "tables/bronze/notes.yaml"
    written = (
        "source: {files: {path: landing/notes/, format: csv, on_erase: remove}}\ncolumns: {note: string}\n"
    )
    shop = make({name: FILES[name] for name in list(FILES)[:2]} | {notes: written})
    shop.land("people/customer=1002/p.csv", csv([(1002, ADA, "Ulm"), (7, BO, "Bonn")]))
    shop.take("notes/customer=1002.csv", "note\nlikes tea\n")
    shop.unland("people/customer=1002/p.csv")
    where = ("--where", "customer_id = 1002", "--yes", "--json")
    said = shop.call("erase", "silver.people", *where).data["proof"]["left"]
    assert [line.partition(":")[0] for line in said] == [
        "bronze.notes has taken 1 file whose names tell of them"
    ]
    assert shop.rows("bronze.people", "customer_id") == [(7,)]
    said = shop.call("erase", "silver.people", *where, "--also", "bronze.notes").data["proof"]["left"]
    assert [line.partition(" tells")[0] for line in said] == ["landing/notes/customer=1002.csv"]
    shop.unland("notes/customer=1002.csv")
    shop.must("erase", "silver.people", *where, "--also", "bronze.notes")
    assert names_and_mentions(shop.root, ["customer=1002"]) == []
    assert shop.rows("bronze.notes") == [("likes tea",)]
    assert shop.must_run().published == {}
