"""The entry script, called by ``spark-submit`` on the cluster, with a project that is a zip in S3."""

import io
import json
import sys
import zipfile
from pathlib import Path

import pytest

import lakesmith
from cluster_place import Place
from lakesmith.spark.start.find_java import find_java
from lakesmith.spark.start.jars import ensure_jars, spark_home
from lakesmith.spark.start.versions import installed_pair

# A cluster on one machine takes minutes.
pytestmark = pytest.mark.release

SUBMIT = Path(lakesmith.__file__).with_name("submit.py")


def _zipped(root: Path) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for file in sorted(root.rglob("*")):
            if file.is_file() and "arrivals" not in file.parts:
                archive.write(file, Path(root.name, file.relative_to(root)))
    return packed.getvalue()


def _submit(place: Place, *words: str, code: int = 0) -> str:
    pair = installed_pair()
    jars = [*ensure_jars(find_java(), pair.local_jars), *ensure_jars(find_java(), pair.aws_jars)]
    conf = [word for name, value in place.cluster.conf.items() for word in ("--conf", f"{name}={value}")]
    script = str(spark_home() / "bin" / "spark-submit")
    return place.called([script, "--jars", ",".join(map(str, jars)), *conf, str(SUBMIT), *words], code)


def test_spark_submit_runs_a_zip_from_s3_on_the_cluster(place: Place, tmp_path: Path) -> None:
    root = place.example("customer-orders", tmp_path / "submitted", on_cluster=False)
    place.in_s3(root, "bronze/orders", "landing/orders/")
    project = place.put("projects/shop.zip", _zipped(root))
    for file in sorted((root / "arrivals").glob("*.csv")):
        place.put(f"{root.name}/{file.name}", file.read_bytes())

    said = _submit(place, "--project", project, "--target", "prod", "run", "+silver.customers", "--json")
    events = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert events[-1]["event"] == "run_finished"

    again = _submit(place, "--project", project, "--target", "prod", "run", "+silver.customers")
    assert "nothing to do: 2 tables up to date" in again
    assert str(tmp_path) not in said + again


def test_a_zip_with_the_embedded_catalog_is_refused(place: Place, tmp_path: Path) -> None:
    root = place.example("customer-orders", tmp_path / "local", on_cluster=False)
    project = place.put("projects/local.zip", _zipped(root))
    words = [str(SUBMIT), "--project", project, "run", "--json"]
    said = json.loads(place.called([sys.executable, *words], code=2))
    assert [problem["code"] for problem in said["problems"]] == ["LS336"]
