"""Who did what: real commands, and what they leave in the journal and in the audit file."""

import json
from collections.abc import Callable

import pytest
from harness import Harness, MakeShop
from rewinding import rewinding

import lakesmith
from lakesmith.journal.lines import AUDIT, JOURNAL
from lakesmith.journal.reading import Reader
from lakesmith.spark import open as spark_open

FILES = {
    "tables/bronze/people.yaml": """
        source: {files: {path: landing/people/, pattern: "*.csv", on_erase: rewrite}}
        columns: {id: bigint, email: string}
        on_bad_row: quarantine
        """,
    "tables/silver/newest.yaml": """
        key: [id]
        query: SELECT id, email FROM bronze.people
        """,
    "tables/gold/many.sql": "SELECT count(*) AS n FROM silver.newest",
}
PERSON = "ann.example@example.com"


@pytest.fixture(scope="module")
def ran(make_lake: MakeShop) -> Callable[[], Harness]:
    project = make_lake(FILES)
    project.land("landing/people/1.csv", f"id,email\n1,{PERSON}\n2,bob@example.com\nx,bad@example.com\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark_open, "open_session", lambda *_, **__: project.handle)
        lakesmith.open(project.root).run()
    return rewinding(project)


@pytest.fixture
def shop(ran: Callable[[], Harness], monkeypatch: pytest.MonkeyPatch) -> lakesmith.Lakehouse:
    """The project after its first run."""
    project = ran()
    monkeypatch.setattr(spark_open, "open_session", lambda *_, **__: project.handle)
    return lakesmith.open(project.root)


def test_each_change_is_in_the_audit_file_and_each_run_in_the_journal(shop: lakesmith.Lakehouse) -> None:
    shop.tag("before")
    point = shop.history("silver.newest").points[-1]
    (shop.folder / "landing/people/2.csv").write_text("id,email\n3,cid@example.com\n")
    shop.run("silver.*", "bronze.*")
    shop.rollback("silver.newest", str(point.snapshot_id), hold=True).apply()
    shop.release("silver.newest")
    shop.untag("before")
    shop.quarantine_replay("bronze.people")
    shop.run("gold.*", full_refresh=["gold.many"])
    shop.maintain()
    shop.change_files("bronze.people", skip=["landing/people/2.csv"])  # prepared, and not made
    shop.drop("gold.many").apply()

    state = shop.folder / ".lakesmith"
    actions = Reader(state).look().actions()
    assert [each.text for each in reversed(actions) if each.is_lasting] == [
        "tag before",
        f"rollback silver.newest --to {point.snapshot_id} --hold",
        "release silver.newest",
        "untag before",
        "quarantine replay bronze.people",
        "run gold.* --full-refresh gold.many",
        "drop gold.many",
    ]
    assert {each.outcome for each in actions} == {"done"}
    first = actions[-1]
    assert (first.kind, first.text, first.is_lasting) == ("run", "run", False)
    counts = first.tables["bronze.people"].counts
    assert (counts["read"], counts["inserted"], counts["quarantined"]) == (3, 2, 1)
    lines = [json.loads(line) for line in (state / AUDIT).read_text().splitlines()]
    assert [line["do"] for line in lines] == ["begun", "ended"] * 7
    assert lines[2]["tables"] == ["silver.newest"]


@pytest.mark.parametrize("name", [JOURNAL, AUDIT])
def test_an_erasure_leaves_nothing_of_the_person_in_them(shop: lakesmith.Lakehouse, name: str) -> None:
    path = shop.folder / ".lakesmith" / name
    line = {"at": 1, "do": "said", "id": "x", "text": f"a value does not fit: {PERSON}"}
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")
    receipt = shop.erase("bronze.people", f"email = '{PERSON}'").apply()
    assert receipt.is_done, receipt.content["proof"]
    assert PERSON not in "".join(each.read_text() for each in (shop.folder / ".lakesmith").glob("*.jsonl"))
    action = next(
        each for each in Reader(shop.folder / ".lakesmith").look().actions() if each.kind == "erase"
    )
    assert action.text == "erase bronze.people --where email=..." and action.outcome == "done"
    assert "gold.many" in action.about
