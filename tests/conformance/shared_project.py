"""Projects on any catalog in the shared JVM: as ``harness``, with landing in S3, and the commands."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness import INTERPRETED, Harness, RunResult, Said
from places import Place, project_file
from small_shop import EXPECTED, Order, csv

from lakesmith.catalog.open import iceberg_properties, pyiceberg_properties
from lakesmith.execute.lake import Lake
from lakesmith.project.definitions import TableName
from lakesmith.sources.objects import bucket_and_key
from lakesmith.spark.iceberg.commits import physical, use_naming
from lakesmith.spark.iceberg.others import others_conf
from lakesmith.spark.start.session import local_catalog_conf
from lakesmith.spark.start.settings import TABLE_FILES, drafts_conf
from lakesmith.spark.start.target_conf import target_conf

Files = Mapping[str, str]


@dataclass
class SharedProject(Harness):
    """A project on ``place``; ``call`` runs a command here. Landing files are named below ``landing/``."""

    place: Place = field(default_factory=lambda: Place("embedded", {}))
    call: Callable[..., Said] = field(default=lambda *_: Said(2, "", ""))

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        self.write({"lakesmith.yaml": project_file(self.root.name, self.place), **self.files})
        spark = self.session.spark.newSession()
        # Of the embedded catalog, with which the JVM was started.
        for name in TABLE_FILES:
            spark.conf.unset(name)
        for key, value in {**self._conf(), **({} if self.compiled else INTERPRETED)}.items():
            spark.conf.set(key, value)
        self.handle = replace(self.session, spark=spark, stop=lambda: None)

    def _conf(self) -> dict[str, str]:
        project, _ = self.load()
        use_naming(project.target.naming)
        if not self.place.is_remote:
            Lake.open(project).catalog.prepare()  # type: ignore[attr-defined]
            state_dir = self.root / ".lakesmith"
            own = local_catalog_conf(state_dir / "catalog.db", state_dir / "warehouse")
            return {**own, **TABLE_FILES, **drafts_conf(), **others_conf(project.target)}
        target, properties = project.target, iceberg_properties(project.target)
        found = {**target_conf(target, properties), **drafts_conf(), **others_conf(target)}
        # Those of Hadoop are read when a JVM starts, by another name than a session has them.
        return {key.removeprefix("spark.hadoop."): value for key, value in found.items()}

    def run(self, *patterns: str, **asked: Any) -> RunResult:
        use_naming(self.load()[0].target.naming)
        return super().run(*patterns, **asked)

    def land(self, name: str, content: str | bytes, modified_ns: int | None = None) -> Path:
        """Lands a file, in S3 where the place has it so; ``name`` is below the landing folder."""
        if not self.place.is_remote:
            return super().land(f"landing/{name}", content, modified_ns)
        bucket, key = self._object(name)
        self._s3().put_object(Bucket=bucket, Key=key, Body=content)
        return Path(name)

    def unland(self, name: str) -> None:
        if not self.place.is_remote:
            (self.root / "landing" / name).unlink()
            return
        bucket, key = self._object(name)
        self._s3().delete_object(Bucket=bucket, Key=key)

    def landing_text(self, name: str) -> str:
        if not self.place.is_remote:
            return (self.root / "landing" / name).read_bytes().decode()
        bucket, key = self._object(name)
        return str(self._s3().get_object(Bucket=bucket, Key=key)["Body"].read().decode())

    def landed(self, name: str) -> str:
        """A landing file as the ledger has it."""
        return f"{self.place.landing}/{name}"

    def must(self, *words: str) -> Said:
        said = self.call(*words)
        assert said.code == 0, said
        return said

    def sql(self, text: str) -> list[Any]:
        """Runs a statement as another tool does, by Spark alone. ``{bronze.orders}`` is that table."""
        names = {str(name): physical(name) for name in self._names()}
        for name, here in names.items():
            text = text.replace("{" + name + "}", here)
        return [tuple(row) for row in self.spark.sql(text).collect()]

    def require(self, orders: Sequence[Order], *tables: str) -> None:
        """Each of these tables has to hold what its definition makes of the orders."""
        for table in tables:
            assert self.rows(table) == EXPECTED[table](orders), table

    def outside(self, table: str) -> Any:
        """The table by another tool: PyIceberg, without lakesmith."""
        from pyiceberg.catalog import load_catalog

        project, _ = self.load()
        if self.place.is_remote:
            catalog = load_catalog("lake", **pyiceberg_properties(project.target))
        else:
            state = self.root / ".lakesmith"
            uri = f"sqlite:///{state}/catalog.db"
            catalog = load_catalog("lake", type="sql", uri=uri, init_catalog_tables="false")
        return catalog.load_table(project.target.naming.physical(TableName.parse(table)))

    def _names(self) -> list[TableName]:
        return [table.name for table in self.load()[0].tables]

    def _object(self, name: str) -> tuple[str, str]:
        return bucket_and_key(self.landed(name))

    def _s3(self) -> Any:
        assert self.place.s3 is not None
        return self.place.s3.client()


Make = Callable[..., SharedProject]
"""Type of the fixture ``make``: called with a project's files, it makes the project on the test's place."""


def grown(make: Make, files: Files, *batches: Iterable[Order]) -> SharedProject:
    """A project that took the batches, a file (``orders/0.csv``, …) and a run each."""
    shop = make(files)
    for number, batch in enumerate(batches):
        shop.take(f"orders/{number}.csv", csv(*batch))
    return shop
