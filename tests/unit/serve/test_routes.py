"""What a project declares of events."""

from pathlib import Path

import pytest

from lakesmith.errors import ProjectError, UsageError
from lakesmith.graph.graph import load
from lakesmith.project.definitions import OnNewColumn, Project
from lakesmith.serve.routes import event_sources, tokens_of

COLUMNS = "columns: {id: bigint}\n"


def project(root: Path, **tables: str) -> Project:
    (root / "tables/bronze").mkdir(parents=True)
    (root / "lakesmith.yaml").write_text("name: shop\n")
    for name, text in tables.items():
        (root / f"tables/bronze/{name}.yaml").write_text(text)
    return load(root, None, {})[0]


def test_events_wait_in_a_folder_of_their_own(tmp_path: Path) -> None:
    declared = project(
        tmp_path,
        sales=f"source:\n  http: {{path: /sales, tokens: [NEW, OLD]}}\n{COLUMNS}",
        clicks="source:\n  web: {http: {path: /web}}\n  old: {files: {path: landing/, format: csv}}\n"
        f"on_bad_row: quarantine\n{COLUMNS}",
    )
    found = {each.source.url_path: each for each in event_sources(declared)}
    assert set(found) == {"/sales", "/web"}
    assert found["/sales"].folder == tmp_path / ".lakesmith/intake/bronze.sales/http"
    assert found["/web"].folder == tmp_path / ".lakesmith/intake/bronze.clicks/web"
    assert (found["/sales"].source.takes_bad, found["/web"].source.takes_bad) == (False, True)
    assert found["/sales"].source.on_new_column is OnNewColumn.FAIL
    assert tokens_of(found["/sales"], {"NEW": "a", "OLD": "b"}) == ("a", "b")
    assert tokens_of(found["/web"], {}) == ()


@pytest.mark.parametrize("environment", [{"NEW": "a"}, {"NEW": "a", "OLD": ""}])
def test_a_token_that_is_not_there_is_named(tmp_path: Path, environment: dict[str, str]) -> None:
    declared = project(tmp_path, sales=f"source:\n  http: {{path: /sales, tokens: [NEW, OLD]}}\n{COLUMNS}")
    with pytest.raises(UsageError) as caught:
        tokens_of(event_sources(declared)[0], environment)
    (problem,) = caught.value.problems
    assert (problem.code, problem.expected) == ("LS271", "a value in OLD")


def test_a_path_belongs_to_one_table(tmp_path: Path) -> None:
    text = f"source:\n  http: {{path: /sales}}\n{COLUMNS}"
    with pytest.raises(UsageError) as caught:
        event_sources(project(tmp_path, one=text, two=text))
    assert caught.value.problems[0].code == "LS270"


@pytest.mark.parametrize(
    ("text", "code", "what"),
    [
        ("source:\n  http: {path: /sales}\n", "LS104", "events need declared columns"),
        (f"source: {{}}\n{COLUMNS}", "LS104", "a source is of one kind"),
        (
            f"source:\n  http: {{path: /a}}\n  files: {{path: x/, format: csv}}\n{COLUMNS}",
            "LS104",
            "a source is of one kind",
        ),
        (f"source:\n  http: {{path: sales}}\n{COLUMNS}", None, None),
        (f"source:\n  http: {{path: /a, port: 1}}\n{COLUMNS}", None, None),
    ],
    ids=["no columns", "neither", "both", "no slash", "unknown"],
)
def test_what_is_not_right_is_said(tmp_path: Path, text: str, code: str | None, what: str | None) -> None:
    with pytest.raises(ProjectError) as caught:
        project(tmp_path, sales=text)
    problem = caught.value.problems[0]
    assert problem.place is not None
    assert code is None or (problem.code, problem.what) == (code, what)


def test_limits_have_defaults_and_are_read(tmp_path: Path) -> None:
    declared = project(
        tmp_path,
        one=f"source:\n  http: {{path: /one}}\n{COLUMNS}",
        two="source:\n  http:\n    {path: /two, event_id: [id], max_rate: 5000, max_waiting: 2 GB, "
        "max_request: 64 KiB}\n" + COLUMNS,
    )
    one, two = (each.source for each in event_sources(declared))
    assert (one.event_id, one.max_rate, one.max_waiting, one.max_request) == ((), None, 2**30, 2**20)
    assert (two.event_id, two.max_rate, two.max_waiting, two.max_request) == (
        ("id",), 5000, 2_000_000_000, 65536
    )  # fmt: skip


@pytest.mark.parametrize(
    ("setting", "what"),
    [
        ("event_id: [id, name]", "event_id has name, which is not a column"),
        ("max_waiting: much", "max_waiting is not a valid size"),
        ("max_request: 1 GB", "max_request is too large"),
        ("max_request: 5 B", "max_request is too small"),
    ],
)
def test_limits_that_cannot_be(tmp_path: Path, setting: str, what: str) -> None:
    with pytest.raises(ProjectError) as caught:
        project(tmp_path, sales=f"source:\n  http: {{path: /a, {setting}}}\n{COLUMNS}")
    (problem,) = caught.value.problems
    assert (problem.code, problem.what) == ("LS105", what)
    assert problem.place is not None
