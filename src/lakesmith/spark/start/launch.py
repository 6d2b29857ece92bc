"""Start the driver JVM and connect PySpark to it.

``spark-submit`` spends seconds before Spark's own code runs: two shells, a launcher JVM, every class parsed
again. Here ``java`` is started at once with Spark's own options and a class-data archive (``class_archive``).
PySpark connects through the variables that it reads for a gateway which is there already
(`pyspark.java_gateway.launch_gateway`). The JVM has a session (process group) of its own, so Ctrl-C reaches
Python alone, and reads a pipe from this process: Spark's gateway ends when that pipe does, however this
process died.
"""

from __future__ import annotations

import os
import shlex
import struct
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from py4j.java_gateway import JavaClass, JavaGateway, JavaPackage, JVMView

from lakesmith.errors import EnvironmentProblem
from lakesmith.spark.jvm.gateway import forget_together
from lakesmith.spark.start.find_java import JavaRuntime
from lakesmith.spark.start.jars import spark_home
from lakesmith.spark.start.session_folder import SessionFolder

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

StartedBy = Literal["direct", "ordinary", "given"]

# Spark 4.1's org.apache.spark.launcher.JavaModuleOptions. jdk.incubator.vector is left out: it is an optional
# speed-up of MLlib, prints a warning, and jlinked runtimes do not have it.
OPENED = (
    *(
        f"java.base/java.{name}"
        for name in ("lang", "lang.invoke", "lang.reflect", "io", "net", "nio", "util")
    ),
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    *(
        f"java.base/{name}"
        for name in ("jdk.internal.ref", "sun.nio.ch", "sun.nio.cs", "sun.security.action")
    ),
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)
SPARK_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    # Spark's code for a row of many columns is one method, and Java does not compile methods of more than
    # 8,000 bytes by default. Reading a CSV file of eight columns took five times as long.
    "-XX:-DontCompileHugeMethods",
    *(f"--add-opens={package}=ALL-UNNAMED" for package in OPENED),
    "--enable-native-access=ALL-UNNAMED",
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
)
SAME_EVERYWHERE = ("-Duser.language=en", "-Duser.country=US", "-Duser.timezone=UTC")
"""Fixed language of the JVM: in Turkish, ``upper('éi')`` would be ``Éİ``."""
SUBMIT = "org.apache.spark.deploy.SparkSubmit"
START_SECONDS = 90
POLL_SECONDS = 0.01
TAIL_CHARACTERS, TAIL_LINES = 600, 4
# Ambient settings of another Spark would change this session without a word.
FOREIGN_VARIABLES = (
    "SPARK_HOME",
    "SPARK_CONF_DIR",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_LOCAL_DIRS",
    "SPARK_DAEMON_MEMORY",
)
_environment = threading.Lock()


@dataclass(frozen=True, slots=True)
class Gateway:
    """Connection details of the JVM's gateway."""

    port: int
    secret: str
    jvm_pid: int


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """All that a driver JVM is started with.

    Args:
        java: the runtime.
        class_path: Spark's jars and ours, in a fixed order.
        memory_mb: the largest heap, in MiB.
        folder: the session's temporary folder.
        log_path: where all that the JVM says goes, appended.
        python: the interpreter of Python workers.
        java_options: more options of the JVM.
        own_options: whether the project has declared some of these.
    """

    java: JavaRuntime
    class_path: tuple[Path, ...]
    memory_mb: int
    folder: SessionFolder
    log_path: Path
    python: str
    java_options: tuple[str, ...] = ()
    own_options: bool = False

    @property
    def properties(self) -> Path:
        """The file the Spark settings are passed in: secrets must not stand on a command line."""
        return self.folder.path / "spark.properties"

    @property
    def connection(self) -> Path:
        """The file in which Spark's gateway says its port and secret."""
        return self.folder.path / "connection"


class LaunchError(Exception):
    """The JVM ended or did not answer in time; has its last words."""


@dataclass(frozen=True, slots=True)
class DriverProcess:
    """A running driver JVM."""

    process: subprocess.Popen[bytes]
    started_by: StartedBy

    @property
    def pid(self) -> int:
        """The JVM's process id (``spark-submit``'s shells replace themselves by it)."""
        return self.process.pid

    def is_alive(self) -> bool:
        return self.process.poll() is None

    def end(self, patience: float) -> None:
        """Close its input, which asks it to exit, and kill it if it has not within `patience` seconds."""
        if self.process.stdin:
            self.process.stdin.close()
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def spark_class_path(jars: Sequence[Path]) -> tuple[Path, ...]:
    """Returns Spark's jars, sorted, then `jars`: an archive needs the same order at each start."""
    return (*sorted((spark_home() / "jars").glob("*.jar")), *jars)


def jvm_options(plan: LaunchPlan, archive: Path | None) -> list[str]:
    """Returns the options of a direct start: Spark's, the heap, folders and the archive."""
    options = [
        *SPARK_OPTIONS,
        f"-Xmx{plan.memory_mb}m",
        "-XX:-UsePerfData",
        f"-XX:ErrorFile={plan.log_path.with_suffix('.crash.log')}",
        *shared_options(plan),
    ]
    return options if archive is None else [*options, f"-XX:SharedArchiveFile={archive}", "-Xshare:auto"]


def shared_options(plan: LaunchPlan) -> list[str]:
    """Returns the options of both starts: the log's configuration, temporary folder, the project's."""
    log4j = Path(__file__).with_name("log4j2.properties").as_uri()
    return [
        f"-Dlog4j2.configurationFile={log4j}",
        f"-Djava.io.tmpdir={plan.folder.java_tmp}",
        *SAME_EVERYWHERE,
        *plan.java_options,
    ]


def direct_command(plan: LaunchPlan, archive: Path | None) -> list[str]:
    class_path = os.pathsep.join(map(str, plan.class_path))
    java = [str(plan.java.executable), "-cp", class_path, *jvm_options(plan, archive)]
    return [*java, SUBMIT, "--properties-file", str(plan.properties), "pyspark-shell"]


def ordinary_command(plan: LaunchPlan) -> list[str]:
    """The command of the ordinary start, by the script that comes with PySpark."""
    script = spark_home() / "bin" / "spark-submit"
    memory = ["--driver-memory", f"{plan.memory_mb}m"]
    options = ["--driver-java-options", shlex.join(shared_options(plan))]
    jars = [jar for jar in plan.class_path if jar.parent != spark_home() / "jars"]
    ours = ["--driver-class-path", os.pathsep.join(map(str, jars))]
    return [str(script), *memory, *options, *ours, "--properties-file", str(plan.properties), "pyspark-shell"]


def launch(plan: LaunchPlan, command: Sequence[str], started_by: StartedBy) -> DriverProcess:
    """Start the JVM and return at once; `connect` waits for it.

    Raises:
        LaunchError: the command cannot be run.
    """
    plan.connection.unlink(missing_ok=True)
    plan.log_path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with plan.log_path.open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=_child_environment(plan),
                start_new_session=True,
                pass_fds=(plan.folder.lock_fd,),
            )
    except OSError as error:
        raise LaunchError(f"{command[0]} cannot be run: {error.strerror}") from error
    return DriverProcess(process, started_by)


def connect(plan: LaunchPlan, driver: DriverProcess, seconds: float = START_SECONDS) -> JavaGateway:
    """Wait for the JVM's gateway and connect PySpark to it.

    Raises:
        LaunchError: the JVM ended, or nothing came within `seconds`. The JVM is then gone.
    """
    from py4j.protocol import Py4JError
    from pyspark.java_gateway import launch_gateway

    from lakesmith.spark.start.launch import remember_names

    try:
        with _gateway_variables(*_await_connection(plan, driver, seconds)):
            gateway = launch_gateway()  # type: ignore[no-untyped-call]
    except (LaunchError, Py4JError, OSError) as error:
        driver.end(patience=0)
        raise LaunchError(str(error)) from error
    gateway.proc = driver.process
    remember_names(gateway)
    return gateway


def connect_to(reached: Gateway) -> JavaGateway:
    """Connect PySpark to a JVM that is up. Raises Py4JError or OSError."""
    from pyspark.java_gateway import launch_gateway

    from lakesmith.spark.start.launch import remember_names

    with _gateway_variables(reached.port, reached.secret):
        gateway = launch_gateway()  # type: ignore[no-untyped-call]
    remember_names(gateway)
    return gateway


def answers(reached: Gateway, seconds: float) -> bool:
    """Returns whether a JVM answers in time. A stopped one takes connections all the same, and PySpark would
    wait for ever."""
    from py4j.java_gateway import GatewayParameters
    from py4j.protocol import Py4JError

    parameters = GatewayParameters(
        port=reached.port, auth_token=reached.secret, auto_convert=True, read_timeout=seconds
    )
    gateway = JavaGateway(gateway_parameters=parameters)
    try:
        gateway.jvm.java.lang.System.nanoTime()
    except (Py4JError, OSError):
        return False
    finally:
        gateway.close()
    return True


def properties_text(conf: Mapping[str, str]) -> str:
    """`conf` as a Java properties file, every character that means something there escaped."""
    return "".join(f"{_escaped(key)}={_escaped(value)}\n" for key, value in sorted(conf.items()))


def write_properties(plan: LaunchPlan, conf: Mapping[str, str]) -> None:
    """Write the settings for the JVM to read; only this user can read the file."""
    plan.properties.touch(mode=0o600)
    plan.properties.write_text(properties_text(conf), encoding="ascii")


def _escaped(text: str) -> str:
    safe = "".join(f"\\{char}" if char in "\\ =:#!" else char for char in text)
    safe = safe.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    utf16 = safe.encode("utf-16-be")
    units = struct.unpack(f">{len(utf16) // 2}H", utf16)
    return "".join(chr(unit) if 32 <= unit < 127 else f"\\u{unit:04x}" for unit in units)


def _child_environment(plan: LaunchPlan) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key not in FOREIGN_VARIABLES}
    return kept | {
        "JAVA_HOME": str(plan.java.home),
        "SPARK_HOME": str(spark_home()),
        "SPARK_CONNECT_MODE": "0",
        "PYSPARK_PYTHON": plan.python,
        "PYSPARK_DRIVER_PYTHON": plan.python,
        "PYTHONHASHSEED": kept.get("PYTHONHASHSEED", "0"),
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(plan.connection),
        **_file_name_locale(kept),
    }


def _file_name_locale(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns a locale for file names: in the plain C locale Java cannot open ``ü``."""
    locale = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or ""
    return {} if "UTF" in locale.upper() else {"LC_ALL": "C.UTF-8"}


def _await_connection(plan: LaunchPlan, driver: DriverProcess, seconds: float) -> tuple[int, str]:
    """Port and secret, once the JVM has written them: a big-endian int, a length, and that many bytes."""
    deadline = time.monotonic() + seconds
    while not plan.connection.exists():
        if driver.process.poll() is not None:
            raise LaunchError(
                f"the JVM ended with code {driver.process.returncode}: {_last_words(plan.log_path)}"
            )
        if time.monotonic() > deadline:
            raise LaunchError(
                f"the JVM gave no connection within {seconds:g} seconds: {_last_words(plan.log_path)}"
            )
        time.sleep(POLL_SECONDS)
    written = plan.connection.read_bytes()
    port, length = struct.unpack(">ii", written[:8])
    return port, written[8 : 8 + length].decode()


def _last_words(log: Path) -> str:
    try:
        tail = log.read_text(errors="replace")[-TAIL_CHARACTERS:]
    except OSError:
        return "(nothing in its log)"
    return " / ".join(line.strip() for line in tail.splitlines()[-TAIL_LINES:] if line.strip())


@contextmanager
def _gateway_variables(port: int, secret: str) -> Iterator[None]:
    """Sets the variables that make PySpark connect instead of start, while the body runs."""
    with _environment:
        os.environ["PYSPARK_GATEWAY_PORT"] = str(port)
        os.environ["PYSPARK_GATEWAY_SECRET"] = secret
        try:
            yield
        finally:
            del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]


def start_failed(reasons: Sequence[str], log_path: Path) -> EnvironmentProblem:
    return EnvironmentProblem.of(
        code="LS303",
        what="the Spark engine did not start",
        expected="a driver JVM that connects",
        found="; ".join(reasons),
        hint=f"the JVM's own words are in {log_path}; `lakesmith doctor` looks at Java, jars and folders",
    )


class _KnownPackage(JavaPackage):  # type: ignore[misc]
    def __getattr__(self, name: str) -> Any:
        return _known(self, name, super().__getattr__(name))


class _KnownView(JVMView):  # type: ignore[misc]
    def __getattr__(self, name: str) -> Any:
        return _known(self, name, super().__getattr__(name))


def remember_names(gateway: JavaGateway) -> None:
    """From now on the gateway's view of the JVM asks for each package and each class once."""
    gateway.jvm.__class__ = _KnownView
    forget_together(gateway)


def _known(where: object, name: str, found: Any) -> Any:
    """Remembers the class that was found as an attribute. Unknown names are asked for again."""
    if isinstance(found, JavaClass):
        setattr(where, name, found)
    elif isinstance(found, JavaPackage) and name.islower():
        found.__class__ = _KnownPackage
        setattr(where, name, found)
    return found
