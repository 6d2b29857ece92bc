"""Projects that are deployed, and their files.

python tests/unit/deploy/deployed.py      # writes the files in golden/ anew: look at what git says then
"""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from lakesmith.deploy.facts import Stack
from lakesmith.deploy.limits import stack_of
from lakesmith.deploy.render import rendered
from lakesmith.graph.graph import load

EXAMPLES: Final = Path(__file__).resolve().parents[3] / "examples"
GOLDEN: Final = Path(__file__).with_name("golden")
PROD: Final = '{type: glue, warehouse: "s3://shop-lake/tables"}'
TABLE_BUCKET: Final = (
    '{type: s3tables, warehouse: "arn:aws:s3tables:eu-central-1:123456789012:bucket/shop-tables"}'
)
USUAL: Final = 'account: "123456789012", region: eu-central-1'

SMALL: Final = {
    "tables/bronze/orders.yaml": """
source:
  files: {path: s3://shop-landing/orders/, format: csv}
columns: {id: bigint, city: string}
""",
    "tables/gold/cities.sql": "SELECT city, count(*) AS orders FROM bronze.orders GROUP BY city",
}

EVERYTHING: Final = SMALL | {
    "tables/_defaults.yaml": "format_version: 2\nowner: data team\n",
    "tables/bronze/clicks.yaml": """
source:
  files: {path: s3://others-clicks/, format: json}
columns: {id: bigint}
schedule: "0 6 13 * FRI"
""",
    "tables/bronze/products.yaml": """
source:
  postgres: {connection: SHOP_DATABASE, table: products, key: [id]}
columns: {id: bigint, name: string}
""",
    "tables/silver/orders.yaml": """
from: bronze.orders
key: [id]
schedule: {cron: "30 2 * * 1-5", time_zone: Europe/Amsterdam}
rules: |
  Rules = [ IsComplete "city", ColumnValues "id" > 0 ]
export: {format: csv, to: "s3://shop-exports/orders/"}
""",
    "tables/silver/ticks.yaml": "from: bronze.clicks\ntags: [pii]\nschedule: {every: 2 hours}\n",
}
"""A project with each kind of piece: two buckets of landing files, one of others, exports, schedules."""

EVERY_SETTING: Final = (
    f"{USUAL}, mode: development, compute: glue, unit: layer, vcpus: 16, mail: data@example.com, "
    "encryption: kms, athena: true, existing_buckets: [others-clicks], replica_region: eu-west-1, "
    "lake_formation: true, github: {repository: acme/lake}"
)


def project(root: Path, files: Mapping[str, str], deploy: str = USUAL, catalog: str = PROD) -> Path:
    """Writes a project with a target ``prod``."""
    header = f"name: shop\ntargets:\n  prod:\n    catalog: {catalog}\n    deploy: {{{deploy}}}\n"
    for name, text in {"lakesmith.yaml": header, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def stack(root: Path, target: str = "prod") -> Stack:
    """The facts of a project's deployment."""
    return stack_of(*load(root, target, {}))


def texts(case: str) -> dict[str, str]:
    """The files of a golden case."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "shop")
        if case == "everything":
            project(root, EVERYTHING, EVERY_SETTING)
        elif case == "table-bucket":
            project(root, SMALL, f"{USUAL}, github: {{repository: acme/lake}}", TABLE_BUCKET)
        else:
            shutil.copytree(EXAMPLES / case, root, ignore=shutil.ignore_patterns("landing", ".lakesmith"))
        # The workflow is in the folder of the repository, which has no golden files.
        return {name.removeprefix("../../"): text for name, text in rendered(stack(root)).items()}


CASES: Final = ("customer-orders", "everything", "table-bucket")


def main() -> None:
    """Writes the golden files."""
    for case in CASES:
        shutil.rmtree(GOLDEN / case, ignore_errors=True)
        for name, text in texts(case).items():
            (GOLDEN / case / name).parent.mkdir(parents=True, exist_ok=True)
            (GOLDEN / case / name).write_text(text)


if __name__ == "__main__":
    main()
