"""A run that is killed between the publish of a table and its export: the next run completes the export."""

import json
from pathlib import Path

import pytest
from harness import Harness, RunResult
from processes import must, run_killed
from soaking import chosen
from test_machine import disk, fill, remount

from lakesmith.execute.events import ExportFailed
from lakesmith.spark.start.session import SessionHandle

TABLE = """
source: {files: {path: landing/, format: csv}}
columns: {id: bigint}
export: {format: json, keep: 0 seconds}
"""
KILLS = ("after-publish:kill", "export-written:kill", "export-manifest:killboth")


def exported(root: Path) -> list[int]:
    out = root / "exports/bronze/orders"
    files = json.loads((out / "manifest.json").read_text())["files"]
    texts = ((out / each["path"]).read_text() for each in files)
    return sorted(json.loads(line)["id"] for text in texts for line in text.splitlines())


@pytest.mark.parametrize("fault", chosen(KILLS))
def test_the_next_run_completes_the_export(tmp_path: Path, fault: str) -> None:
    root = tmp_path / "shop"
    (root / "tables/bronze").mkdir(parents=True)
    (root / "landing").mkdir()
    (root / "lakesmith.yaml").write_text("name: shop\ntargets: {local: {}}\n")
    (root / "tables/bronze/orders.yaml").write_text(TABLE)
    (root / "landing/1.csv").write_text("id\n1\n")
    must(root)
    (root / "landing/2.csv").write_text("id\n2\n")
    run_killed(root, fault)
    assert exported(root) == [1], "the version in place stays whole"
    assert "1 export behind" in must(root, "status")
    must(root)
    assert exported(root) == [1, 2]
    assert len(list((root / "exports/bronze/orders").glob("v=*"))) == 1
    assert "nothing to do" in must(root)


def test_an_export_folder_that_is_full_or_read_only_is_completed_later(
    tmp_path: Path, session: SessionHandle
) -> None:
    root = tmp_path / "shop"
    shop = Harness(root, session, {"tables/bronze/orders.yaml": TABLE.replace("json", "csv, columns: [id]")})
    out = root / "exports/bronze/orders"
    with disk(root / "exports", "size=16m"):
        shop.take("landing/1.csv", "id\n1\n")
        whole = (out / "manifest.json").read_bytes()
        filler = fill(root / "exports")
        wide = "id\n" + "".join(f"{number}\n" for number in range(10_000))
        for name, harm, mend in (
            ("2.csv", lambda: None, filler.unlink),
            ("3.csv", lambda: remount(root / "exports", "ro"), lambda: remount(root / "exports", "rw")),
        ):
            harm()
            shop.land(f"landing/{name}", wide)
            result = shop.run()
            assert (result.code, problems(result)) == (1, ["LS651"])
            assert (out / "manifest.json").read_bytes() == whole
            assert len(list(out.glob("v=*"))) == 1, "what failed takes no room"
            mend()
            shop.must_run()
            assert ids(out) == sorted(row[0] for row in shop.rows("bronze.orders", "id"))
            whole = (out / "manifest.json").read_bytes()


def problems(result: RunResult) -> list[str]:
    failed = [event for event in result.events if isinstance(event, ExportFailed)]
    assert all("found" in "\n".join(problem.lines()) for event in failed for problem in event.problems)
    return [problem.code for event in failed for problem in event.problems]


def ids(out: Path) -> list[int]:
    files = json.loads((out / "manifest.json").read_text())["files"]
    return sorted(
        int(line)
        for each in files
        for line in (out / each["path"]).read_text().splitlines()
        if line.isdigit()
    )
