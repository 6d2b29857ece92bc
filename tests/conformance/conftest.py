"""Each catalog's server is started with the first case that needs it; all cases share the suite's one JVM."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.append(str(Path(__file__).parents[1] / "crash"))
sys.path.append(str(Path(__file__).parents[1] / "spark" / "cli"))

import places
from shared_project import Files, Make, Said, SharedProject
from soaking import chosen

from lakesmith.cli.guard import guarded
from lakesmith.cli.main import app
from lakesmith.project.definitions import AS_IN_PROJECT
from lakesmith.spark.engine import SparkEngine
from lakesmith.spark.iceberg.commits import use_naming

if TYPE_CHECKING:
    import s3_server
    from lakesmith.execute.lake import Lake
    from lakesmith.spark.start.session import SessionHandle


@pytest.fixture(autouse=True)
def _as_before(by_keys: None) -> Iterator[None]:
    """Small tables are refreshed by keys too; what a case arranges in this process ends with it."""
    yield
    use_naming(AS_IN_PROJECT)


@pytest.fixture(params=chosen(places.KINDS))
def place(request: pytest.FixtureRequest) -> places.Place:
    if request.param == places.EMBEDDED:
        return places.embedded()
    s3 = request.getfixturevalue("known_s3")
    if request.param == places.GLUE:
        return places.in_glue(s3)
    if request.param == places.REST:
        return places.on_rest(request.getfixturevalue("rest"), s3)
    return places.in_postgres(request.getfixturevalue("jdbc"), s3)


@pytest.fixture
def known_s3(
    s3: s3_server.Server, session: SessionHandle, monkeypatch: pytest.MonkeyPatch
) -> s3_server.Server:
    """S3 with credentials in the environment and in Java's properties, for clients without settings."""
    properties: Any = session.spark._jvm.java.lang.System  # type: ignore[union-attr]
    properties.setProperty("aws.accessKeyId", s3.environ["AWS_ACCESS_KEY_ID"])
    properties.setProperty("aws.secretAccessKey", s3.environ["AWS_SECRET_ACCESS_KEY"])
    for name, value in s3.environ.items():
        monkeypatch.setenv(name, value)
    return s3


@pytest.fixture
def make(
    tmp_path: Path,
    session: SessionHandle,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    place: places.Place,
) -> Make:
    """Makes projects on the place, whose commands use the shared JVM instead of starting their own."""
    made: dict[Path, SharedProject] = {}

    def open_engine(lake: Lake, *_: object) -> SparkEngine:
        return SparkEngine(made[lake.project.root].handle, lake)

    monkeypatch.setattr("lakesmith.spark.open.open_engine", open_engine)
    monkeypatch.setattr(
        "lakesmith.spark.open.open_session", lambda project, *_, **__: made[project.root].handle
    )

    def make(files: Files, name: str = "shop", at: places.Place = place) -> SharedProject:
        root = tmp_path / f"{name}{len(made)}" / name

        def call(*words: str) -> Said:
            arguments = [*words, "--project", str(root)]
            use_naming(made[root].load()[0].target.naming)
            capsys.readouterr()
            code = guarded(lambda: app(arguments, prog_name="lakesmith", standalone_mode=False), arguments)
            return Said(code, *capsys.readouterr())

        made[root] = SharedProject(root, session, files, place=at, call=call)
        return made[root]

    return make
