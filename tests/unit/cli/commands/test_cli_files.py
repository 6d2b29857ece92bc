"""``files``: what became of each landing file, and what skipping and forgetting them would do."""

from pathlib import Path

import pytest
from shop import Cli, Shop

from lakesmith.catalog.record import Record
from lakesmith.errors import LakesmithError
from lakesmith.execute.files import FileLine, FileReport, FileState, file_report, find_files, ledger_step
from lakesmith.execute.lake import Lake
from lakesmith.graph.graph import load
from lakesmith.plan.facts import TableFacts
from lakesmith.plan.steps import Strategy, TableStep
from lakesmith.project.definitions import TableDefinition, TableName
from lakesmith.sources.model import FileAction, FileIdentity

BRONZE = TableName("bronze", "orders")


@pytest.fixture
def past(shop: Shop) -> Shop:
    """Files of every state: taken, changed, skipped, forgotten, gone, waiting."""
    paths = {
        name: shop.land(f"{name}.csv") for name in ("taken", "changed", "skipped", "forgotten", "waiting")
    }
    gone = paths["taken"].with_name("gone.csv")
    pin = shop.ledger(
        "bronze.orders",
        (paths["taken"], FileAction.TAKEN, 1),
        (paths["changed"], FileAction.TAKEN, 1),
        (gone, FileAction.TAKEN, 2),
        (paths["skipped"], FileAction.SKIPPED, 2),
        (paths["forgotten"], FileAction.FORGOTTEN, 2),
    )
    shop.batch("bronze.orders", 1, 10, sidecars={"files": pin})
    paths["changed"].write_text("customer_id\n1\n2\n")
    return shop


def known(shop: Shop) -> tuple[TableDefinition, TableFacts, FileReport]:
    project, _ = load(shop.root)
    lake = Lake.open(project)
    table, facts = project.table(BRONZE), lake.facts(BRONZE)
    return table, facts, file_report(lake, table, facts)


def test_the_state_of_each_file(cli: Cli, past: Shop) -> None:
    data = cli("files", "bronze.orders", "--project", past.root, "--json").data
    found = {Path(file["path"]).stem: (file["state"], file["there"], file["batch"]) for file in data["files"]}
    assert found == {
        "taken": ("taken", True, 1), "changed": ("changed", True, 1), "gone": ("taken", False, 2),
        "skipped": ("skipped", True, 2), "forgotten": ("waiting", True, None),
        "waiting": ("waiting", True, None),
    }  # fmt: skip


def test_what_needs_attention_is_always_shown(cli: Cli, shop: Shop) -> None:
    files = [shop.land(f"{number:03}.csv") for number in range(40)]
    pin = shop.ledger("bronze.orders", *((file, FileAction.TAKEN, n) for n, file in enumerate(files)))
    shop.batch("bronze.orders", 1, 10, sidecars={"files": pin})
    shop.land("a-new-one.csv")
    lines = cli("files", "bronze.orders", "--project", shop.root).out.splitlines()
    assert len(lines) == 1 + 30 + 1 + 3
    assert lines[1].startswith("landing/orders/010.csv")
    assert lines[31].split()[:3] == ["landing/orders/a-new-one.csv", "waiting", "-"]
    assert lines[32] == "(10 files not shown: --all shows them)"
    assert lines[-1] == "40 taken, 1 waiting"
    assert len(cli("files", "bronze.orders", "--all", "--project", shop.root).out.splitlines()) == 44


def test_no_file_yet(cli: Cli, shop: Shop) -> None:
    assert (
        cli("files", "bronze.orders", "--project", shop.root).out
        == "no file has arrived for bronze.orders yet\n"
    )


def test_a_folder_that_is_gone_is_a_problem_and_the_ledger_is_shown(cli: Cli, past: Shop) -> None:
    (past.root / "landing").rename(past.root / "elsewhere")
    said = cli("files", "bronze.orders", "--project", past.root)
    assert said.code == 1
    assert "LS401" in said.out
    assert "landing/orders/taken.csv      taken, gone from the folder" in said.out


def test_a_derived_table_takes_no_files(cli: Cli, shop: Shop) -> None:
    said = cli("files", "gold.customers_by_city_month", "--project", shop.root)
    assert said.code == 2
    assert "LS215" in said.err
    assert "its rows come from files of bronze.orders" in said.err


def test_a_file_can_be_named_in_several_ways(past: Shop) -> None:
    _, _, report = known(past)
    here = past.root / "landing"
    path = "landing/orders/taken.csv"
    for text in (
        path,
        "taken.csv",
        "orders/taken.csv",
        str(past.root / path),
        "./orders/../orders/taken.csv",
    ):
        assert [line.path for line in find_files(report, [text], past.root, here)] == [path]
    twice = find_files(report, ["taken.csv", path], past.root, here)
    assert len(twice) == 1


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--skip", "take.csv"], "LS210", "did you mean taken.csv?"),
        (["--forget", "nothing-like-it"], "LS210", "was taken, and none is waiting to be"),
        (["--forget", "waiting.csv"], "LS213", "was never taken"),
        (["--forget", "forgotten.csv"], "LS213", "it is taken by the next run"),
        (["--forget", "taken.csv", "--skip", "taken.csv"], "LS212", "not both"),
    ],
)
def test_wrong_calls_are_told_before_spark_starts(
    cli: Cli, past: Shop, monkeypatch: pytest.MonkeyPatch, words: list[str], code: str, said: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setenv("PATH", "")
    answer = cli("files", "bronze.orders", *words, "--project", past.root)
    assert answer.code == 2
    assert answer.err.startswith(code)
    assert said in answer.err


def test_a_name_that_several_files_have(past: Shop) -> None:
    (past.root / "landing/orders/more").mkdir()
    past.land("more/taken.csv")
    _, _, report = known(past)
    with pytest.raises(LakesmithError, match=r"LS211 taken\.csv is the name of several files"):
        find_files(report, ["taken.csv"], past.root, past.root)


def step_of(shop: Shop, skip: list[str], forget: list[str]) -> TableStep:
    table, facts, report = known(shop)
    chosen = [find_files(report, texts, shop.root, shop.root) for texts in (skip, forget)]
    return ledger_step(table, "fingerprint now", facts, chosen[0], chosen[1])


def test_the_step_enters_files_as_they_are_now(past: Shop) -> None:
    step = step_of(past, ["changed.csv", "waiting.csv"], ["taken.csv", "gone.csv", "skipped.csv"])
    (intake,) = step.intakes
    assert step.strategy is Strategy.LEDGER
    assert [Path(file.path).stem for file in intake.skip] == ["changed", "waiting"]
    assert sorted(Path(file.path).stem for file in intake.forget) == ["gone", "skipped", "taken"]
    assert (intake.take, intake.replace, step.file_count) == ((), (), 0)
    # The changed file is skipped as it is now, so that the next run finds nothing new about it.
    assert intake.skip[0].size == len("customer_id\n1\n2\n")
    assert isinstance(step.base.record, Record)
    assert step.fingerprint == step.base.record.fingerprint


def test_a_file_of_a_source_that_was_renamed_can_be_forgotten(past: Shop) -> None:
    file = past.root / "tables/bronze/orders.yaml"
    file.write_text(
        "source: {renamed: {files: {path: landing/orders/, format: csv}}}\ncolumns: {customer_id: bigint}\n"
    )
    step = step_of(past, [], ["gone.csv"])
    assert [(intake.source.name, len(intake.forget)) for intake in step.intakes] == [("files", 1)]


def test_skipping_before_the_first_run_needs_columns(cli: Cli, shop: Shop) -> None:
    shop.land("poison.csv")
    assert step_of(shop, ["poison.csv"], []).intakes[0].skip[0].path == "landing/orders/poison.csv"
    (shop.root / "tables/bronze/orders.yaml").write_text(
        "source: {files: {path: landing/orders/, format: csv}}\n"
    )
    said = cli("files", "bronze.orders", "--skip", "poison.csv", "--project", shop.root)
    assert said.code == 2
    assert "LS214" in said.err


def test_states_have_words() -> None:
    assert {state.value for state in FileState} == {
        "taken", "waiting", "too_young", "changed", "skipped", "forgotten", "unreadable", "before_since",
    }  # fmt: skip


def test_an_object_is_named_by_its_key_or_by_a_name_that_only_one_has(tmp_path: Path) -> None:
    paths = [
        "s3://shop/in/1/a b+%20.csv", "s3://shop/in/2/b.csv", "s3://shop/in//b.csv", "s3://shop/in/[c]*.csv",
    ]  # fmt: skip
    lines = tuple(FileLine(FileIdentity(path, 1, 1), "files", FileState.TAKEN, True) for path in paths)
    report = FileReport(lines)
    for text, path in [*zip(paths, paths, strict=True), ("a b+%20.csv", paths[0]), ("[c]*.csv", paths[3])]:
        assert [line.path for line in find_files(report, [text], tmp_path, tmp_path)] == [path]
    with pytest.raises(LakesmithError, match="LS211"):
        find_files(report, ["b.csv"], tmp_path, tmp_path)
    with pytest.raises(LakesmithError, match="LS210"):
        find_files(report, ["s3://shop/in/b.csv"], tmp_path, tmp_path)


def test_files_before_since_are_seen_here_and_not_taken(cli: Cli, shop: Shop) -> None:
    for folder in ("dt=01", "dt=02"):
        (shop.root / "landing/orders" / folder).mkdir(parents=True)
    old, new = shop.land("dt=01/old.csv"), shop.land("dt=02/new.csv")
    pin = shop.ledger("bronze.orders", (old, FileAction.TAKEN, 1), (new, FileAction.TAKEN, 1))
    shop.batch("bronze.orders", 1, 10, sidecars={"files": pin})
    shop.land("dt=01/late.csv")
    table = shop.root / "tables/bronze/orders.yaml"
    table.write_text(table.read_text().replace("format: csv", "format: csv, since: dt=02"))
    data = cli("files", "bronze.orders", "--project", shop.root, "--json").data
    assert {Path(file["path"]).stem: (file["state"], file["there"]) for file in data["files"]} == {
        "old": ("taken", True), "late": ("before_since", True), "new": ("taken", True),
    }  # fmt: skip
    lines = cli("files", "bronze.orders", "--project", shop.root).out.splitlines()
    assert lines[-1] == "2 taken, 1 before since"
    assert "since dt=02" in cli("explain", "bronze.orders", "--project", shop.root).out
    assert "up to date" in cli("plan", "bronze.orders", "--project", shop.root).out
