"""Fingerprints of tables that users have: a change of one would rebuild each of these tables."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from lakesmith.plan.fingerprint import Around, definition_fingerprint, definition_parts
from lakesmith.project.files import FolderFiles
from lakesmith.project.loader import parse_project

ROOT = Path(__file__).parents[3]
PINNED = Path(__file__).with_name("fingerprints.json")
"""Written by ``python tests/unit/plan/test_pinned_fingerprints.py``, for new tables alone."""

EVERYTHING = {
    "lakesmith.yaml": "name: shop\ntargets: {local: {}}\n",
    "tables/_defaults.yaml": "owner: everyone\non_bad_row: quarantine\npartition_by: [id]\n",
    "tables/bronze/events.yaml": "source: {http: {path: /a, event_id: [id]}}\n"
    "columns: {id: int, at: timestamp, price: {type: 'decimal(10,2)', required: true, doc: Euros}}\n"
    'rules: \'Rules = [ ColumnValues "price" > 0 where "id > 1" ]\'\n',
    "tables/bronze/clicks.yaml": "source: {kafka: {connection: SHOP, topic: clicks, keys: json}}\n"
    "columns: {id: {type: int, required: true}, at: timestamp}\nrules: 'Rules = [ IsComplete \"at\" ]'\n",
    "tables/bronze/stock.yaml": "source: {postgres: {connection: SHOP, table: stock, key: [id]}}\n"
    "columns: {id: int, n: bigint}\n",
    "tables/bronze/whole.yaml": "source: {files: {path: w/, format: csv, snapshot: {column: at}}}\n"
    "on_bad_row: fail\n",
    "tables/silver/whole.yaml": "from: bronze.whole\nkey: [id]\nhistory: type2\ntrack: [n]\n",
    "tables/silver/clicks.yaml": "from: bronze.clicks\nkey: [id]\nlatest_by: [at]\nnulls: newest\n"
    "delete_when: _tombstone -- gone\ncolumns: {id: bigint, at: {doc: when}}\n"
    "tags: [a]\nmaintain: {retain_last: 3}\n",
    "tables/silver/prices.yaml": "query: SELECT e.id, e.at, s.n FROM bronze.events e"
    " JOIN bronze.stock s USING (id)\n"
    "lookups: {bronze.stock: {as_of: arrival}}\n"
    "key: [id]\nlatest_by: [at]\nhistory: type2\ntrack: [N, id2]\n",
    "tables/gold/windows.yaml": "query: SELECT max(at) AS closed, id FROM bronze.events GROUP BY id\n"
    "emit: {closed: closed, watermark: [bronze.events.at, bronze.clicks.at], delay: 2 minutes,"
    " idle_after: 1 hour,"
    " max_ahead: 1 minute}\nformat_version: 2\n",
    "tables/gold/py.yaml": "function: p\ninputs: {a: silver.clicks}\ndeterministic: true\n",
    "tables/gold/py.py": "def p(a, bronze__stock):\n    return a  # all of it\n",
}
AROUND = (Around(), Around({"lib": "x = 1"}, {"spark.sql.ansi.enabled": "false"}, {"bronze.a": "5"}))


def fingerprints(root: Path, name: str) -> Iterator[tuple[str, object]]:
    """By table: the fingerprint and its parts, alone and in an environment that counts."""
    loaded = parse_project(FolderFiles(root), None, {**os.environ, "AWS_REGION": "eu-north-1"})
    assert not loaded.problems, loaded.problems
    for table in loaded.project.tables:
        found = [[definition_fingerprint(table, each), definition_parts(table, each)] for each in AROUND]
        yield f"{name} {table.name}", found


def everything(root: Path) -> Path:
    for path, text in EVERYTHING.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


def found_now(scratch: Path) -> dict[str, object]:
    examples = sorted(path.parent for path in (ROOT / "examples").glob("*/lakesmith.yaml"))
    found = dict(fingerprints(everything(scratch), "everything"))
    for example in examples:
        found |= fingerprints(example, example.name)
    return found


def test_no_fingerprint_has_changed(tmp_path: Path) -> None:
    assert found_now(tmp_path) == json.loads(PINNED.read_text(encoding="utf-8"))


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        text = json.dumps(found_now(Path(folder)), indent=1, sort_keys=True)
    PINNED.write_text(text + "\n", encoding="utf-8")
