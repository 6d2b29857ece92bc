"""What Spark says when it refuses to start reaches the reader."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.in_turn

PROGRAM = """
import sys
from pathlib import Path
from lakesmith.errors import EnvironmentProblem
from lakesmith.spark.start.session import SessionSettings, start_session

conf = {"spark.serializer": "no.such.Serializer"}
try:
    start_session(SessionSettings({}, Path(sys.argv[1]), cores=1, driver_memory_mb=1024, conf=conf)).result()
except EnvironmentProblem as error:
    print(error)
"""


def test_why_spark_refused_is_told_though_its_jvm_is_gone(tmp_path: Path) -> None:
    """Asking the exception for its text after its JVM had ended raised ConnectionRefusedError."""
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "spark.log")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "LS303" in said
    assert "no.such.Serializer" in said
