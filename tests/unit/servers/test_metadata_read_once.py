"""What a shared catalog is asked: unchanged metadata once, by whatever process, and many tables by few
questions.
"""

import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from botocore.client import BaseClient
from pyiceberg.catalog import load_catalog

import faulty_proxy
import postgres_server
import rest_server
import s3_server
from lakesmith.catalog.open import pyiceberg_properties
from lakesmith.catalog.remote import RemoteCatalog
from lakesmith.catalog.remote_tables import tables_of
from lakesmith.project.definitions import TableName, Target

ROWS = pa.table({"id": pa.array([1, 2], pa.int64())})
NAMES = tuple(f"table_{number}" for number in range(5))


@pytest.fixture(scope="module")
def proxy(rest: rest_server.Server) -> Iterator[faulty_proxy.Proxy]:
    with faulty_proxy.running(rest.uri) as started:
        yield started


@pytest.fixture(scope="module", params=["glue", "rest", "sql"])
def settings(
    request: pytest.FixtureRequest, s3: s3_server.Server, proxy: faulty_proxy.Proxy
) -> Mapping[str, str]:
    """PyIceberg's properties of each catalog; the REST one by way of the proxy."""
    make: Callable[[], Mapping[str, str]] = {
        "glue": lambda: s3.glue(f"{s3.make_bucket()}/wh"),
        "rest": lambda: {"type": "rest", "uri": proxy.uri, **s3.files},
        "sql": lambda: _in_postgres(request.getfixturevalue("jdbc"), s3),
    }[request.param]
    return make()


def _in_postgres(server: postgres_server.Server, s3: s3_server.Server) -> dict[str, str]:
    return {**server.make_database().catalog(f"{s3.make_bucket()}/wh"), **s3.files}


class Shared:
    """Tables in a catalog, looked at by processes that share a folder alone."""

    def __init__(self, settings: Mapping[str, str], folder: Path, s3: s3_server.Server) -> None:
        self.settings, self.folder, self.s3 = dict(settings), folder, s3
        self.layer = f"bronze_{uuid.uuid4().hex[:8]}"
        self.writer: Any = load_catalog("lake", **settings)
        self.writer.create_namespace(self.layer)
        for name in NAMES:
            self.make(name)

    def make(self, name: str) -> Any:
        return self.writer.create_table((self.layer, name), ROWS.schema)

    def append(self, name: str) -> None:
        self.writer.load_table((self.layer, name)).append(ROWS)

    def look(self, *names: str, cache: bool = True) -> dict[str, Any]:
        """The states of tables as a new process finds them."""
        catalog = RemoteCatalog(self.settings, cache=self.folder if cache else None)
        wanted = [TableName(self.layer, name) for name in names or NAMES]
        with catalog.one_look(wanted):
            return {name.name: catalog.table(name.layer, name.name) for name in wanted}

    def read(self, look: Callable[[], object]) -> Counter[str]:
        """The metadata files that S3 is asked for while ``look`` looks, by whoever reads them: the REST
        server does itself.
        """
        with self.s3.asked(".metadata.json") as lines:
            look()
        return Counter(line.split("/metadata/")[0].rpartition("/")[2] for line in lines if line[:3] == "GET")


@pytest.fixture
def shared(settings: Mapping[str, str], tmp_path: Path, s3: s3_server.Server) -> Shared:
    return Shared(settings, tmp_path / "cache", s3)


def test_another_process_reads_only_what_is_new(shared: Shared, proxy: faulty_proxy.Proxy) -> None:
    first = shared.look()
    proxy.clear()
    asked = shared.read(shared.look)
    if shared.settings["type"] == "rest":
        assert all("If-None-Match" in each.headers for each in proxy.asked if "/tables/" in each.path)
    else:
        assert asked == Counter()
    assert shared.look() == first == shared.look(cache=False)
    shared.append("table_3")
    if shared.settings["type"] != "rest":
        assert set(shared.read(shared.look)) == {"table_3"}
    now = shared.look()
    assert now == shared.look(cache=False)
    assert {name for name in NAMES if now[name] != first[name]} == {"table_3"}


def test_a_cache_that_vanishes_or_is_damaged_is_none(shared: Shared) -> None:
    first = shared.look()
    for damage in (
        lambda file: file.write_bytes(file.read_bytes()[:-5]),
        lambda file: file.write_text("{}"),
        Path.unlink,
    ):
        for file in shared.folder.iterdir():
            damage(file)
        assert shared.look() == first
    for file in shared.folder.iterdir():
        file.chmod(0)
    assert shared.look() == first


def test_a_table_that_was_made_anew_is_another(shared: Shared) -> None:
    before = shared.look()["table_1"]
    shared.writer.drop_table((shared.layer, "table_1"))
    assert shared.look()["table_1"] is None
    shared.make("table_1")
    assert shared.look()["table_1"].uuid != before.uuid


def test_metadata_that_is_deleted_between_question_and_reading_is_looked_for_anew(shared: Shared) -> None:
    if shared.settings["type"] == "rest":
        pytest.skip("a REST catalog reads it itself")
    table = (shared.layer, "table_4")
    old = shared.writer.load_table(table).metadata_location
    shared.append("table_4")
    shared.writer._load_file_io(location=old).delete(old)
    found = tables_of(shared.writer).find(table, None, {table: old})
    assert found is not None
    assert found.location == shared.writer.load_table(table).metadata_location != old
    shared.writer._load_file_io(location=old).delete(found.location)
    with pytest.raises(FileNotFoundError):
        tables_of(shared.writer).find(table, None, {table: found.location})


def test_a_server_without_etags_is_asked_anew(
    shared: Shared, proxy: faulty_proxy.Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shared.settings["type"] != "rest":
        pytest.skip("only REST has them")
    answer = proxy.ask

    def without(asked: faulty_proxy.Asked) -> Any:
        status, headers, body = answer(asked)
        return status, [header for header in headers if header[0] != "ETag"], body

    monkeypatch.setattr(proxy, "ask", without)
    first = shared.look()
    shared.append("table_2")
    proxy.clear()
    now = shared.look()
    assert not [each for each in proxy.asked if "If-None-Match" in each.headers]
    assert now == shared.look(cache=False)
    assert now["table_2"] != first["table_2"] and now["table_1"] == first["table_1"]


def test_a_database_is_asked_once_for_all(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    if shared.settings["type"] != "sql":
        pytest.skip("only of databases")
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    told: list[str] = []
    note = lambda *given: told.append(given[2])  # noqa: E731
    event.listen(Engine, "before_cursor_execute", note)
    try:
        assert shared.look(*NAMES, "nowhere")["nowhere"] is None
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    assert len([text for text in told if "iceberg_tables" in text]) == 1


def test_connections_that_a_database_has_ended_are_made_anew(jdbc: postgres_server.Server) -> None:
    database = jdbc.make_database()
    login = (("jdbc.user", database.user), ("jdbc.password", database.password))
    target = Target("shared", "jdbc", (("uri", database.jdbc), *login))
    catalog = RemoteCatalog(pyiceberg_properties(target))
    assert catalog.table("bronze", "orders") is None
    jdbc.do(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database.name}'")
    assert catalog.table("bronze", "orders") is None
    assert RemoteCatalog(pyiceberg_properties(target)).names("bronze") == ()
    pids = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{database.name}'"
    assert jdbc.do(pids) == [(1,)], "one pool serves the process"


def test_glue_is_asked_for_pages_where_that_is_less(shared: Shared) -> None:
    if shared.settings["type"] != "glue":
        pytest.skip("only of Glue")

    def calls(*names: str) -> Counter[str]:
        with shared.s3.asked("AWSGlue.") as lines:
            shared.look(*names)
        return Counter(line.split()[-1].removeprefix("AWSGlue.") for line in lines)

    assert calls() == {"GetTables": 1}
    assert calls("table_1") == {"GetTable": 1}
    assert calls("table_1", "nowhere") == {"GetTables": 1, "GetTable": 1}
    assert shared.look("table_1", "nowhere")["nowhere"] is None


def test_glue_is_not_asked_for_more_pages_than_there_are_tables_to_find(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one that gives a table a page, which moto does not: others have thousands of them in the
    database.
    """
    if shared.settings["type"] != "glue":
        pytest.skip("only of Glue")
    calls: Counter[str] = Counter()
    call = BaseClient._make_api_call

    def in_pages(client: Any, operation: str, given: Any) -> Any:
        calls[operation] += 1
        answer = call(client, operation, {key: given[key] for key in given if key != "NextToken"})
        if operation == "GetTables":
            at, tables = int(given.get("NextToken", 0)), answer["TableList"]
            answer["TableList"] = tables[at : at + 1]
            answer |= {"NextToken": str(at + 1)} if at + 1 < len(tables) else {}
        return answer

    monkeypatch.setattr(BaseClient, "_make_api_call", in_pages)
    found = shared.look("table_3", "table_4")
    assert all(found.values())
    assert calls == {"GetTables": 2, "GetTable": 2}


def test_who_may_not_list_glue_asks_for_each(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    if shared.settings["type"] != "glue":
        pytest.skip("only of Glue")
    call = BaseClient._make_api_call

    def refuse(client: Any, operation: str, given: Any) -> Any:
        if operation == "GetTables":
            raise client.exceptions.AccessDeniedException(
                {"Error": {"Code": "AccessDeniedException"}}, operation
            )
        return call(client, operation, given)

    monkeypatch.setattr(BaseClient, "_make_api_call", refuse)
    assert all(shared.look().values())
