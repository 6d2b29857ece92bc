"""Receipts say what was done, and not of whom."""

import json
from pathlib import Path

from lakesmith.execute.erase import Receipts
from lakesmith.project.definitions import TableName
from lakesmith.sql.erasure_filter import ErasureFilter

ADA = ErasureFilter(("email",), (("ada@x.com",),))
PEOPLE = TableName("silver", "people")


def test_names_of_files_become_keyed_hashes(tmp_path: Path) -> None:
    receipts = Receipts(tmp_path)
    number = receipts.id_of(PEOPLE, ADA)
    left = ["landing/ada@x.com.csv has 1 record of theirs", "landing/f 1.csv is kept"]
    hidden = receipts.hidden({"left": left, "n": 1, "done": False}, ADA, ["landing/f 1.csv"])
    text = receipts.finish(number, hidden).read_text()
    assert "ada" not in text
    assert "f 1.csv" not in text
    assert "has 1 record of theirs" in text
    assert hidden == receipts.hidden({"left": left, "n": 1, "done": False}, ADA, ["landing/f 1.csv"])


def test_older_receipts_lose_them_too(tmp_path: Path) -> None:
    path = tmp_path / "erasures/0123.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"landing": [{"file": "landing/ada@x.com.csv"}, {"file": "landing/b.csv"}]}))
    Receipts(tmp_path).hide_names(ADA)
    assert "ada" not in path.read_text()
    assert "landing/b.csv" in path.read_text()


def test_what_an_erasure_has_made_is_known_to_others_until_it_ends(tmp_path: Path) -> None:
    receipts = Receipts(tmp_path)
    receipts.begin("one")
    receipts.note_made("one", "digest")
    receipts.begin("one")
    receipts.begin("two")
    assert (receipts.made(), receipts.begun()) == ({"digest"}, 2)
    receipts.finish("one", {"done": True})
    assert (receipts.made(), receipts.begun()) == (frozenset(), 1)
