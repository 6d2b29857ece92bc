"""Settings for a Spark whose tasks run on other machines."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lakesmith.errors import EnvironmentProblem
from lakesmith.plan.cost import DataSize
from lakesmith.project.definitions import Project, Target
from lakesmith.spark.start.attempts import attempts
from lakesmith.spark.start.class_archive import Archive
from lakesmith.spark.start.find_java import find_java
from lakesmith.spark.start.launch import LaunchPlan
from lakesmith.spark.start.session_folder import SessionFolder
from lakesmith.spark.start.settings import SessionSettings, is_cluster, require_shared, session_conf

MASTER = {"spark.master": "spark://here:7077"}
JARS = (Path("/jars/iceberg.jar"), Path("/jars/aws.jar"))


def _conf(size: DataSize = DataSize.LARGE, **given: str) -> dict[str, str]:
    conf = {**MASTER, **{name.replace("__", "."): value for name, value in given.items()}}
    settings = SessionSettings(catalogs={}, log_path=Path("spark.log"), conf=conf, size=size)
    return session_conf(settings, Path("/tmp/session"), JARS)


@pytest.mark.parametrize(
    ("master", "cluster"),
    [
        ("local", False), ("local[*]", False), ("local[2, 3]", False), ("local-cluster[2,1,700]", True),
        ("yarn", True),
    ],
)  # fmt: skip
def test_which_masters_have_executors_elsewhere(master: str, cluster: bool) -> None:
    assert is_cluster({"spark.master": master}) == cluster


def test_executors_get_the_jars_and_can_reach_the_driver() -> None:
    conf = _conf()
    assert conf["spark.jars"] == "file:///jars/iceberg.jar,file:///jars/aws.jar"
    assert not {"spark.driver.host", "spark.driver.bindAddress", "spark.sql.shuffle.partitions"} & conf.keys()
    assert conf["spark.pyspark.python"] == sys.executable


def test_the_targets_settings_win() -> None:
    conf = _conf(
        size=DataSize.LITTLE, spark__pyspark__python="/usr/bin/python3.12", spark__jars="s3://b/udf.jar"
    )
    assert conf["spark.pyspark.python"] == "/usr/bin/python3.12"
    assert conf["spark.jars"].endswith("aws.jar,s3://b/udf.jar")
    assert conf["spark.sql.shuffle.partitions"] == "8"


def test_nothing_is_sent_to_executors_that_have_the_jars() -> None:
    assert _conf(spark__jars="")["spark.jars"] == ""


def test_on_one_machine_nothing_is_sent() -> None:
    settings = SessionSettings(catalogs={}, log_path=Path("spark.log"), cores=2)
    conf = session_conf(settings, Path("/tmp/session"), JARS)
    assert "spark.jars" not in conf
    assert conf["spark.driver.host"] == "127.0.0.1"


def test_a_cluster_is_tried_once(tmp_path: Path) -> None:
    plan = LaunchPlan(find_java(), JARS, 1024, SessionFolder(tmp_path, 0), tmp_path / "log", sys.executable)
    archive = Archive(tmp_path, "none")
    assert len(attempts(plan, archive, MASTER)) == 1
    assert len(attempts(plan, archive, {"spark.master": "yarn"})) == 1


def test_tables_in_a_folder_of_this_machine_are_not_written_by_others() -> None:
    target = Target("prod", "local", spark=tuple(MASTER.items()))
    project = Project(Path("/shop"), "shop", target, ())
    with pytest.raises(EnvironmentProblem, match="LS331") as refused:
        require_shared(project)
    assert "spark://here:7077" in (refused.value.problems[0].found or "")
    require_shared(replace(project, target=replace(target, type="rest")))
