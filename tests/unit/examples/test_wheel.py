"""The wheel of a working tree in which the examples were tried out: what is in it is what is in one of a
fresh tree.
"""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from example_files import EXAMPLES

pytestmark = pytest.mark.processes

wheel = pytest.importorskip("hatchling.builders.wheel")

SHIPPED_LANDING = {
    "customer-orders/landing/orders/.gitkeep",
    "cdn-logs/landing/logs/.gitkeep",
    "dim-customers/landing/customers/.gitkeep",
    *(f"invoices/landing/invoices/20240603-{time}.tsv" for time in ("0915", "0930", "0945", "1000")),
}
CACHES = shutil.ignore_patterns(".mypy_cache", "__pycache__", ".lakesmith")
STRAY = (
    "landing/orders/orders_20240531_22.csv", "landing/orders/deep/er/1.csv", "landing/.orders.csv.tmp",
    ".lakesmith/catalog.db", ".lakesmith/warehouse/silver/customers/data/1.parquet",
    "__pycache__/generate.cpython-311.pyc", ".mypy_cache/3.11/cache.db",
)  # fmt: skip


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The working tree's files that count, the examples used."""
    for name in ("pyproject.toml", "README.md", ".gitignore", "src", "examples"):
        source = EXAMPLES.parent / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=CACHES)
        else:
            shutil.copy(source, tmp_path / name)
    for example in ("customer-orders", "invoices"):
        for name in STRAY:
            file = tmp_path / "examples" / example / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("stray")
    (tmp_path / "examples/invoices/landing/invoices/20240603-1015.tsv").write_text("stray")
    return tmp_path


def shipped(root: Path) -> Iterator[tuple[str, Path]]:
    """The names in the wheel, with the files they are made from."""
    builder = wheel.WheelBuilder(str(root))
    for file in builder.recurse_included_files():
        yield file.distribution_path, Path(file.path)


def test_what_was_tried_out_is_not_shipped(tree: Path) -> None:
    found = dict(shipped(tree))
    examples = {name.removeprefix("lakesmith/examples/") for name in found if "/examples/" in name}
    assert {name for name in examples if "/landing/" in name} == SHIPPED_LANDING
    assert {"customer-orders/lakesmith.yaml", "invoices/arrivals/20240603-1015.tsv"} <= examples
    assert [name for name, file in found.items() if file.read_bytes() == b"stray"] == []


def test_no_landing_file_of_an_example_was_forgotten() -> None:
    command = ["git", "-C", str(EXAMPLES), "ls-files"]
    found = subprocess.run(command, capture_output=True, text=True)
    if found.returncode:
        pytest.skip("not in a checkout: nobody knows which files belong to the examples")
    assert {name for name in found.stdout.splitlines() if "/landing/" in name} == SHIPPED_LANDING


def test_the_package_is_shipped_whole_and_nothing_beside_it(tree: Path) -> None:
    found = {name for name, _ in shipped(tree) if "/examples/" not in name}
    package = (path for path in (tree / "src").rglob("*") if path.is_file())
    assert found == {str(path.relative_to(tree / "src")) for path in package}
