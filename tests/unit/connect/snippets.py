"""What the golden texts are written of: a lake with two tables on targets of every kind.

python tests/unit/connect/snippets.py      # writes the files in golden/ anew: look at what git says then
"""

from pathlib import Path
from typing import Final

from lakesmith.connect.model import Lake, Table
from lakesmith.connect.registry import ALL
from lakesmith.connect.render import snippet
from lakesmith.connect.values import reference, without_secrets
from lakesmith.errors import Place, UsageError
from lakesmith.project.definitions import TableName, Target

GOLDEN: Final = Path(__file__).with_name("golden")
ARN: Final = "arn:aws:s3tables:eu-central-1:123456789012:bucket/lake"
S3: Final = {
    "s3.endpoint": "http://minio:9000", "s3.region": "us-east-1", "s3.path-style-access": "true",
    "s3.access-key-id": reference("S3_ID"), "s3.secret-access-key": reference("S3_KEY"),
}  # fmt: skip

TARGETS: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "local": ("local", {}),
    "glue": ("glue", {"warehouse": "s3://lake/w", "glue.region": "eu-central-1"}),
    "glue-with-keys": (
        "glue",
        {
            "warehouse": "s3://lake/w",
            "client.region": "eu-central-1",
            "glue.id": "123456789012",
            "client.access-key-id": reference("AWS_ID"),
            "client.secret-access-key": reference("AWS_KEY"),
        },
    ),
    "s3tables": ("s3tables", {"warehouse": ARN}),
    "s3tables-of-the-environment": ("s3tables", {"warehouse": reference("TABLE_BUCKET")}),
    "rest": (
        "rest",
        {
            "uri": "https://catalog.example.com/api",
            "warehouse": "lake",
            "credential": f"lakesmith:{reference('LAKE_SECRET')}",
            "scope": "PRINCIPAL_ROLE:ALL",
        },
    ),
    "rest-with-token": (
        "rest",
        {"uri": "http://catalog:8181", "warehouse": "s3://lake/w", "token": "written-out", **S3},
    ),
    "rest-without-login": ("rest", {"uri": "http://catalog:8181"}),
    "jdbc": (
        "jdbc",
        {
            "uri": "jdbc:postgresql://db.example.com:5432/lake",
            "jdbc.user": "lake",
            "jdbc.password": reference("LAKE_PASSWORD"),
            "warehouse": "s3://lake/w",
            "s3.region": "eu-central-1",
        },
    ),
    "jdbc-in-a-file": (
        "jdbc",
        {"uri": "jdbc:sqlite:/srv/lake/catalog.db", "warehouse": "/srv/lake/warehouse"},
    ),
}


def lake_on(name: str) -> Lake:
    """Returns a lake: bronze.orders of format 2, silver.customers of format 3; gold.sales is not built."""
    kind, settings = TARGETS[name]
    told = Target(
        name.replace("-", "_"), kind, tuple(sorted(settings.items())), place=Place("lakesmith.yaml", 3)
    )
    target, written_out = without_secrets(told)
    state = Path("/home/me/shop/.lakesmith")
    return Lake(
        project="shop",
        target=target,
        state_dir=state,
        tables=(_table("bronze", "orders", 2, settings), _table("silver", "customers", 3, settings)),
        unbuilt=(TableName("gold", "sales"),) if kind == "local" else (),
        written_out=written_out,
    )


def _table(layer: str, name: str, version: int, settings: dict[str, str]) -> Table:
    folder = settings.get("warehouse", "/home/me/shop/.lakesmith/warehouse")
    return Table(
        TableName(layer, name),
        layer,
        name,
        version,
        f"{folder}/{layer}/{name}/metadata/00007-a.metadata.json",
    )


def said(engine: str, name: str) -> str:
    """The snippet, or the problem that there is instead."""
    chosen = next(each for each in ALL if each.name == engine)
    try:
        return snippet(chosen, lake_on(name))
    except UsageError as error:
        return "\n".join(error.problems[0].lines())


def write() -> None:
    """Writes the golden texts: a file a target, with a part for each engine."""
    for name in TARGETS:
        parts = [f"===== {engine.name}\n{said(engine.name, name)}\n" for engine in ALL]
        (GOLDEN / f"{name}.txt").write_text("".join(parts))


if __name__ == "__main__":
    write()
