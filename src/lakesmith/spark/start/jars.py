"""The jars that Spark needs beside its own (``versions``: which), resolved once by Spark's Ivy, then put on
the class path.

A set of coordinates has a folder of its own in the user's cache. It is filled beside and renamed into place
under a lock, and a list of its files with their sizes (``jars.json``) is written last, so a half download is
never taken for whole and two first runs at once do the work once. A start after that reads one small file and
asks nobody.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import ssl
import struct
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from lakesmith.errors import EnvironmentProblem, Problem
from lakesmith.project.files import user_cache
from lakesmith.spark.start.find_java import JavaRuntime
from lakesmith.whole_file import write_whole

_OF_THE_SDK = """
    bundle annotations apache5-client arns auth aws-core aws-query-protocol aws-xml-protocol checksums
    checksums-spi crt-core endpoints-spi http-auth http-auth-aws http-auth-aws-eventstream http-auth-spi
    http-client-spi identity-spi json-utils metrics-spi netty-nio-client profiles protocol-core regions
    retries retries-spi s3 sdk-core third-party-jackson-core utils utils-lite
"""
_LEFT_OUT = (
    *(f"software.amazon.awssdk:{part}" for part in _OF_THE_SDK.split()),
    "org.wildfly.openssl:wildfly-openssl",
    "org.apache.httpcomponents:httpclient",
    "org.apache.httpcomponents.client5:httpclient5",
    "software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3",
    "software.amazon.eventstream:eventstream",
    "org.reactivestreams:reactive-streams",
    "io.netty:netty-codec-http",
    "io.netty:netty-codec-http2",
    "org.slf4j:slf4j-api",
)
"""Dependencies that are not fetched: parts of the AWS bundle, and what Spark has."""

MANIFEST = "jars.json"
RESOLVE_SECONDS = 900


def ensure_jars(java: JavaRuntime, coordinates: Sequence[str], cache: Path | None = None) -> tuple[Path, ...]:
    """The jar files of `coordinates` (``group:artifact:version``) and what they need, resolved at first use.

    Raises:
        EnvironmentProblem: LS302, they are not here and cannot be fetched; LS304, the cache cannot be
            written.
    """
    folder = jars_folder(coordinates, cache)
    if ready := cached_jars(folder):
        return ready
    make_folder(folder.parent)
    with held(folder.with_suffix(".lock")):
        return cached_jars(folder) or _adopt(folder, coordinates) or _resolve(folder, coordinates, java)


def jars_folder(coordinates: Sequence[str], cache: Path | None = None) -> Path:
    """Where the jars of `coordinates` are, or will be. Jars put there by hand are taken, too."""
    digest = hashlib.sha256("\n".join(sorted(coordinates)).encode()).hexdigest()[:12]
    return (cache or cache_folder()) / "jars" / digest


def cached_jars(folder: Path) -> tuple[Path, ...] | None:
    """The jars of a filled folder in a fixed order; None if one is missing or has not the size it had."""
    try:
        sizes: dict[str, int] = json.loads((folder / MANIFEST).read_text())["jars"]
        whole = all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, KeyError):
        return None
    return tuple(folder / name for name in sorted(sizes)) if whole else None


def is_whole_jar(path: Path) -> bool:
    """Whether every member of the jar can be read and has its checksum."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    except (OSError, zipfile.BadZipFile, EOFError):
        return False


def _adopt(folder: Path, coordinates: Sequence[str]) -> tuple[Path, ...] | None:
    """Adopts jars that somebody put into the folder, if all are complete."""
    present = list(folder.glob("*.jar")) if folder.is_dir() else []
    wanted = [_file_end(coordinate) for coordinate in coordinates]
    complete = all(any(jar.name.endswith(end) for jar in present) for end in wanted)
    if not complete or not all(is_whole_jar(jar) for jar in present):
        return None
    return _seal(folder)


def _file_end(coordinate: str) -> str:
    """How a jar's file name ends, by Maven's naming or Ivy's, which puts the group before it."""
    _, artifact, version = coordinate.split(":")
    return f"{artifact}-{version}.jar"


def _resolve(folder: Path, coordinates: Sequence[str], java: JavaRuntime) -> tuple[Path, ...]:
    """Let Spark fetch into a folder beside, check every jar, and rename it into place."""
    with tempfile.TemporaryDirectory(prefix=".resolving-", dir=folder.parent) as work:
        ivy = Path(work) / "ivy"
        said = _fetch(java, coordinates, ivy)
        jars = _without_sparks_own(ivy / "jars")
        broken = [jar.name for jar in jars if not is_whole_jar(jar)]
        if said or not jars or broken:
            raise EnvironmentProblem(_unreachable(folder, coordinates, said, broken))
        _seal(ivy / "jars")
        shutil.rmtree(folder, ignore_errors=True)
        (ivy / "jars").rename(folder)
    return tuple(folder / jar.name for jar in jars)


def _without_sparks_own(folder: Path) -> list[Path]:
    """Returns the jars of `folder` without those that Spark has (Ivy adds ``group_`` to names)."""
    known = {jar.name for jar in (spark_home() / "jars").glob("*.jar")}
    for jar in folder.glob("*.jar"):
        if any(jar.name.endswith(f"_{name}") for name in known):
            jar.unlink()
    return sorted(folder.glob("*.jar"))


def _fetch(java: JavaRuntime, coordinates: Sequence[str], ivy: Path) -> str:
    """Fetch as Java is set up; if that fails, once more trusting the certificates this machine trusts."""
    said = _run_ivy(java, coordinates, ivy)
    store = write_trust_store(ivy.parent) if said else None
    if store is None:
        return said
    return _run_ivy(java, coordinates, ivy, (f"-Djavax.net.ssl.trustStore={store}",))


def _run_ivy(
    java: JavaRuntime, coordinates: Sequence[str], ivy: Path, java_options: Sequence[str] = ()
) -> str:
    """Run Spark's own resolution; returns what it printed. Its gateway ends at once: it reads the end of its
    input.

    The environment is passed on, so a proxy, a mirror (``DEFAULT_ARTIFACT_REPOSITORY``) and the settings of
    ``SPARK_CONF_DIR`` count as they do for ``spark-submit --packages``.
    """
    options = ["--conf", f"spark.jars.ivy={ivy}", "--packages", ",".join(coordinates)]
    options += ["--exclude-packages", ",".join(_LEFT_OUT)]
    java_command = [str(java.executable), *java_options, "-cp", f"{spark_home()}/jars/*"]
    command = [*java_command, "org.apache.spark.deploy.SparkSubmit"]
    environ = {**os.environ, "_PYSPARK_DRIVER_CONN_INFO_PATH": str(ivy.parent / "connection")}
    try:
        done = subprocess.run(
            [*command, *options, "pyspark-shell"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=RESOLVE_SECONDS,
            env=environ,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"nothing came within {RESOLVE_SECONDS} seconds"
    return "" if done.returncode == 0 else done.stdout


def spark_home() -> Path:
    """The folder of the installed pyspark package, which holds Spark's own jars. Does not import it."""
    import importlib.util

    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise EnvironmentProblem.of(
            "LS305", "the pyspark package is not installed", hint="pip install pyspark"
        )
    return Path(spec.origin).parent


def _seal(folder: Path) -> tuple[Path, ...]:
    """Writes the list of the jars last: the folder counts as complete from now on."""
    jars = sorted(folder.glob("*.jar"))
    sizes = {jar.name: jar.stat().st_size for jar in jars}
    write_whole(folder / MANIFEST, json.dumps({"jars": sizes}, indent=1))
    return tuple(jars)


def _unreachable(folder: Path, coordinates: Sequence[str], said: str, broken: list[str]) -> Problem:
    reasons = [line.strip() for line in said.splitlines() if "not found" in line or "Exception" in line]
    found = f"damaged: {', '.join(broken)}" if broken else "; ".join(reasons[:2]) or said.strip()[-300:]
    return Problem(
        code="LS302",
        what="the jars that Spark needs are not on this machine and could not be fetched",
        expected=f"from Maven Central or your mirror of it: {', '.join(coordinates)}",
        found=found or "nothing was fetched",
        hint=f"check the network and proxy and run again (a mirror: set DEFAULT_ARTIFACT_REPOSITORY); "
        f"without a network, copy these jar files into {folder}",
    )


_MAGIC, _VERSION, _TRUSTED = 0xFEEDFEED, 2, 2
_PASSWORD = "changeit".encode("utf-16-be")
_PHRASE = b"Mighty Aphrodite"
_END = "-----END CERTIFICATE-----"


def write_trust_store(folder: Path) -> Path | None:
    """Writes what this machine trusts to ``folder``; None when it has no list of certificates."""
    bundle = _bundle()
    if bundle is None:
        return None
    certificates = _certificates(bundle.read_text(errors="ignore"))
    store = folder / "trust.jks"
    store.write_bytes(trust_store(certificates))
    return store if certificates else None


def trust_store(certificates: Sequence[bytes]) -> bytes:
    """A JKS file of trusted certificates, each in DER."""
    body = struct.pack(">III", _MAGIC, _VERSION, len(certificates))
    for number, der in enumerate(certificates):
        alias = _text(f"ca{number}")
        body += struct.pack(">I", _TRUSTED) + alias + struct.pack(">Q", 0) + _text("X.509")
        body += struct.pack(">I", len(der)) + der
    return body + hashlib.sha1(_PASSWORD + _PHRASE + body).digest()


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">H", len(encoded)) + encoded


def _certificates(pem: str) -> list[bytes]:
    """Each certificate of a PEM file in DER, once; notes between them are passed over."""
    parts = (part[part.find("-----BEGIN CERTIFICATE-----") :] for part in pem.split(_END)[:-1])
    return list(dict.fromkeys(ssl.PEM_cert_to_DER_cert(part + _END) for part in parts))


def _bundle() -> Path | None:
    named = os.environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile
    usual = (
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
    )
    return next((Path(path) for path in (named, *usual) if path and Path(path).is_file()), None)


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Returns ``$LAKESMITH_CACHE``, ``$XDG_CACHE_HOME/lakesmith`` or ``~/.cache/lakesmith``."""
    return user_cache(os.environ if environ is None else environ)


def make_folder(folder: Path) -> Path:
    """Creates `folder` and its parents. Raises EnvironmentProblem LS304."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentProblem(_not_writable(folder, error)) from error
    if not os.access(folder, os.W_OK):
        raise EnvironmentProblem(_not_writable(folder, None))
    return folder


@contextmanager
def held(lock_file: Path, wait: bool = True) -> Iterator[bool]:
    """Holds an exclusive lock on `lock_file`; yields whether it is held (False only without waiting). It ends
    with the process."""
    with lock_file.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def _not_writable(folder: Path, error: OSError | None) -> Problem:
    return Problem(
        code="LS304",
        what=f"the cache folder {folder} cannot be written",
        expected="a folder of yours: Spark's extra jars and start-up archives are kept there",
        found=str(error.strerror if error else "no permission to write"),
        hint="set LAKESMITH_CACHE to a folder that can be written",
    )
