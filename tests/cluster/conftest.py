"""The cluster that the tests of this folder share."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.extend(str(Path(__file__).parents[1] / folder) for folder in ("conformance", "crash"))

import rest_server
import s3_server
import spark_cluster_server
from cluster_place import Place


@pytest.fixture(scope="session")
def cluster() -> Iterator[spark_cluster_server.Cluster]:
    """A master and two workers of one core each."""
    with spark_cluster_server.running() as found:
        yield found


@pytest.fixture
def place(cluster: spark_cluster_server.Cluster, rest: rest_server.Server, s3: s3_server.Server) -> Place:
    """Where a test's projects live."""
    return Place(cluster, rest, s3, s3.make_bucket())
