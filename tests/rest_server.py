"""An Iceberg REST catalog for tests: Iceberg's own as a process, over SQLite and files on S3.

The parts are those of Iceberg's ``RESTCatalogServer``: its servlet, its adapter of any catalog, Jetty. That
program listens on all interfaces and has no setting for it, so the parts are put together here, over py4j, as
it does it.
"""

import os
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

from py4j.java_gateway import GatewayParameters, JavaGateway

import s3_server
from lakesmith.spark.start.find_java import JavaRuntime, find_java
from rest_jars import rest_jars
from server_process import PATIENCE, ServerProcess, started

_MEMORY: Final = ("-Xmx300m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_QUIET: Final = "-Dlog4j2.level=WARN"


class Server:
    """A catalog whose tables' names are in ``folder`` and whose files are below ``warehouse`` on ``s3``."""

    def __init__(
        self, folder: Path, s3: s3_server.Server, warehouse: str, java: JavaRuntime | None = None
    ) -> None:
        self.process = ServerProcess(folder)
        self.warehouse = warehouse
        self._s3 = s3
        self._java = java or find_java()
        self._port = 0

    def start(self) -> None:
        """Starts it and waits until it answers. After a stop it has its tables and its port again."""
        options = [self._java.executable, *_MEMORY, _QUIET, "-cp", ":".join(map(str, rest_jars(self._java)))]
        gateway = ["py4j.GatewayServer", "--die-on-broken-pipe", "--enable-auth", "0"]
        self.process.start([*options, *gateway], {**os.environ, **self._s3.environ})
        port, token = self.process.wait_for(self._gateway)
        connected = JavaGateway(
            gateway_parameters=GatewayParameters(
                port=port, auth_token=token, auto_convert=True, read_timeout=PATIENCE
            )
        )
        self._port = _serve(connected.jvm, self._port, self._backend())
        connected.close()

    def end(self) -> None:
        self.process.end()

    @property
    def uri(self) -> str:
        assert self._port, "it was not started"
        return f"http://127.0.0.1:{self._port}"

    @property
    def catalog(self) -> dict[str, str]:
        return {"type": "rest", "uri": self.uri, **self._s3.files}

    def _gateway(self) -> tuple[int, str] | None:
        """The port and the password of py4j, which it prints first."""
        said = re.search(r"^(\d+)\n(\S+)\n", self.process.said(), re.MULTILINE)
        return (int(said[1]), said[2]) if said else None

    def _backend(self) -> dict[str, str]:
        return {
            "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
            "uri": f"jdbc:sqlite:{self.process.folder / 'catalog.db'}?busy_timeout=30000",
            "jdbc.schema-version": "V1",
            "warehouse": self.warehouse,
            "http-client.type": "urlconnection",
            **self._s3.file_io,
        }


def running(s3: s3_server.Server, warehouse: str | None = None) -> AbstractContextManager[Server]:
    """A catalog that lives until the end of the block; its warehouse is in a new bucket if none is given."""
    return started(lambda folder: Server(folder, s3, warehouse or f"{s3.make_bucket()}/wh"))


def _serve(jvm: Any, port: int, backend: Mapping[str, str]) -> int:
    """Puts the server together and starts it; its port, a free one for 0."""
    iceberg, jetty = jvm.org.apache.iceberg, jvm.org.eclipse.jetty
    configuration = jvm.org.apache.hadoop.conf.Configuration()
    catalog = iceberg.CatalogUtil.buildIcebergCatalog("rest_backend", dict(backend), configuration)
    servlet = iceberg.rest.RESTCatalogServlet(iceberg.rest.RESTCatalogAdapter(catalog))
    context = jetty.ee10.servlet.ServletContextHandler()
    context.addServlet(jetty.ee10.servlet.ServletHolder(servlet), "/*")
    server = jetty.server.Server(jvm.java.net.InetSocketAddress("127.0.0.1", port))
    server.setHandler(context)
    # Clients up to Iceberg 1.10 part the names of a namespace by %1F, as the specification has it, and Jetty
    # refuses that by itself.
    context.getServletHandler().setDecodeAmbiguousURIs(True)
    http = server.getConnectors()[0].getConnectionFactory("HTTP/1.1").getHttpConfiguration()
    http.setUriCompliance(jetty.http.UriCompliance.UNSAFE)
    server.start()
    return int(server.getConnectors()[0].getLocalPort())
