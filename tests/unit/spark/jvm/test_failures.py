"""Failures told by their root cause. The texts in ``failures/`` were caught from Spark 4.1.4, that of
variants from 4.0.2, most frames cut out.
"""

import errno
import re
from pathlib import Path

import pytest
from py4j.protocol import Py4JError

from lakesmith.errors import Place, Problem, ProjectError
from lakesmith.spark.jvm.failures import causes_of, explain_failure, is_interrupt, is_unanswered

TEXTS = Path(__file__).parent / "failures"


def caught(name: str) -> Exception:
    """An exception whose class and text are those of the text file."""
    match = re.match(
        r"(?P<module>\S+)\.(?P<name>\w+): (?P<text>.*)", (TEXTS / f"{name}.txt").read_text(), re.DOTALL
    )
    assert match
    raised: Exception = type(match["name"], (Exception,), {"__module__": match["module"]})(match["text"])
    return raised


EXPECTED = [
    (
        "cast",
        "LS601",
        'Spark failed: [CAST_INVALID_INPUT] The value \'a\' of the type "STRING" cannot be cast to "INT" '
        "because it is "
        "malformed. Correct the value as per the syntax, or change its target type. Use `try_cast` to "
        "tolerate malformed "
        "input and return NULL instead.",
        None,
    ),
    (
        "column",
        "LS601",
        "Spark failed: [UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with "
        "name `nope` "
        "cannot be resolved. Did you mean one of the following? [`id`, `v`].; line 1 pos 11",
        None,
    ),
    (
        "parse",
        "LS601",
        "Spark failed: [PARSE_SYNTAX_ERROR] Syntax error at or near 'y'. (line 2, pos 3)",
        None,
    ),
    ("udf", "LS601", "Spark failed: ValueError: bad value 0 (/project/tables/bad.py:16)", None),
    (
        "parquet",
        "LS601",
        "Spark could not read /data/x.parquet: RuntimeException: file:/data/x.parquet is not a Parquet "
        "file. Expected magic number at tail, but "
        "found [32, 97, 108, 108]",
        "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///data/x.parquet.",
    ),
    ("commit", "LS601", "Spark failed: ValidationException: Cannot set a to unknown snapshot: 77", None),
    ("oom", "LS602", "Spark ran out of memory: OutOfMemoryError: Java heap space", None),
    ("dead", "LS604", "Spark's JVM died", "Py4JNetworkError: Answer from Java side is empty"),
    (
        "locked",
        "LS702",
        "another process keeps the catalog locked: [SQLITE_BUSY] The database file is locked (database is "
        "locked)",
        None,
    ),
    (
        "variant",
        "LS601",
        "this version of Iceberg cannot read files with variants so: UnsupportedOperationException: Not "
        "implemented for variant",
        None,
    ),
    (
        "dead_class",
        "LS604",
        "Spark's JVM died",
        "Py4JError: org.apache.spark.sql.functions does not exist in the JVM",
    ),
]


@pytest.mark.parametrize(("name", "code", "what", "found"), EXPECTED, ids=[row[0] for row in EXPECTED])
def test_the_root_cause_is_told(name: str, code: str, what: str, found: str | None, tmp_path: Path) -> None:
    log = tmp_path / "run/spark.log"
    problem = explain_failure(caught(name), log)
    assert (problem.code, problem.what, problem.found) == (code, what, found)
    assert f"Spark's log: {log}" in (problem.hint or "")
    # It says more than the problem does, whether Spark wrote something there or not.
    assert str(caught(name)).split("JVM stacktrace:")[0].strip() in log.read_text()


def test_no_log_is_named_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("no folder")
    assert explain_failure(ValueError("what is this"), tmp_path / "run/spark.log").hint is None


def test_the_log_has_no_secrets(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    explain_failure(ValueError("it says s3cret"), log, secrets=["s3cret"])
    assert "it says ***" in log.read_text()


@pytest.mark.parametrize("name", [path.stem for path in sorted(TEXTS.glob("*.txt"))])
def test_no_java_frame_and_no_page_of_text_is_shown(name: str) -> None:
    problem = explain_failure(caught(name), None)
    shown = "\n".join(problem.lines())
    assert not re.search(r"\bat [\w.$]+\(|Traceback|\.scala:|\.java:", shown)
    assert len(problem.what) < 700
    assert "\n" not in problem.what


def test_a_folder_that_cannot_be_made() -> None:
    problem = explain_failure(caught("readonly"), None)
    assert problem.code == "LS605"
    assert "Mkdirs failed to create file:/proc/nope" in problem.what


@pytest.mark.parametrize(
    ("exc", "code"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "x.parquet"), "LS603"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "LS603"),
        (RuntimeError("java.io.IOException: No space left on device"), "LS603"),
        (PermissionError(errno.EACCES, "Permission denied", "warehouse"), "LS605"),
        (OSError(errno.EROFS, "Read-only file system"), "LS605"),
        (RuntimeError("[SQLITE_READONLY] attempt to write a readonly database"), "LS605"),
        (ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"), "LS604"),
        (Py4JError("An error occurred while calling o12.commit"), "LS604"),
        (Py4JError("An error occurred while calling o12.commit. Trace:\njava.lang.X: no"), "LS601"),
        (RuntimeError("java.net.ConnectException: Connection refused"), "LS601"),
        (ValueError("what is this"), "LS601"),
    ],
)
def test_kinds_of_failure(exc: Exception, code: str) -> None:
    assert explain_failure(exc, None).code == code


def test_a_clock_that_went_back_is_told_with_the_time_to_wait_for() -> None:
    said = "Invalid update timestamp 1795352820915: before last snapshot log entry at 1795360016342"
    said = f"java.lang.IllegalArgumentException: {said}"
    problem = explain_failure(RuntimeError(said), None)
    assert (problem.code, "clock" in problem.what) == ("LS601", True)
    assert problem.hint == "set the clock right, or run again after 2026-11-22 15:06:56 UTC"


def test_a_jvm_that_died_of_memory_is_told_by_its_log(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    log.write_text("x\n" * 9000 + "java.lang.OutOfMemoryError: Java heap space\n")
    assert explain_failure(ConnectionRefusedError("gone"), log).code == "LS602"
    log.write_text("java.lang.OutOfMemoryError: of a run long ago\n" + "x\n" * 9000)
    assert explain_failure(ConnectionRefusedError("gone"), log).code == "LS604"


@pytest.mark.parametrize(
    ("said", "unanswered"),
    [
        ("org.apache.iceberg.exceptions.CommitStateUnknownException: Service failed: 503", True),
        ("org.apache.iceberg.exceptions.ServiceFailureException: Server error: 500", True),
        ("org.apache.iceberg.exceptions.RESTException: Error occurred while processing POST request", True),
        ("org.apache.iceberg.exceptions.CommitFailedException: branch x has changed", False),
        ("org.apache.iceberg.exceptions.NotAuthorizedException: Not authorized", False),
        ("org.apache.iceberg.exceptions.ValidationException: Found concurrently added DV", False),
    ],
)
def test_what_a_catalog_did_not_answer_is_told_from_what_it_refused(said: str, unanswered: bool) -> None:
    outer = "org.apache.spark.SparkException: Writing job failed"
    text = f"An error occurred while calling o12.commit.\n: {outer}\n\tat a.B.c(B.java:1)\nCaused by: {said}"
    assert is_unanswered(RuntimeError(text)) == unanswered


@pytest.mark.parametrize(
    ("by", "unanswered"), [("SnapshotProducer.commit", True), ("ManifestGroup.plan", False)]
)
def test_a_commit_that_removed_what_it_had_done_is_told_from_a_table_that_lacks_a_file(
    by: str, unanswered: bool
) -> None:
    """The former is Iceberg 1.10 after a conflict over its own success."""
    frames = "\tat org.apache.iceberg.ManifestLists.read(ManifestLists.java:42)"
    frames += f"\n\tat org.apache.iceberg.{by}(A.java:1)"
    root = "software.amazon.awssdk.services.s3.model.NoSuchKeyException: (Service: S3, Status Code: 404)"
    text = f"An error occurred while calling o12.commit.\n: {root}\n{frames}"
    assert is_unanswered(RuntimeError(text)) == unanswered


def test_ctrl_c_is_no_death_of_the_jvm() -> None:
    try:
        try:
            raise KeyboardInterrupt
        finally:
            raise Py4JError("An error occurred while calling o1.close")
    except Py4JError as error:
        assert is_interrupt(error)
    assert not is_interrupt(Py4JError("Answer from Java side is empty"))


def test_an_error_of_our_own_keeps_its_problem() -> None:
    problem = Problem("LS101", "no such column", Place("tables/a.yaml", 3))
    assert explain_failure(ProjectError(problem), None) is problem


def test_the_chain_of_causes_from_outermost_to_deepest() -> None:
    causes = "Caused by: org.b.Middle$Inner\n\t... 3 more\nCaused by: c.Root: three\n"
    text = f"org.a.Outer: one\n\tat x.y(Z.java:1)\n{causes}"
    assert [(cause.name, cause.message) for cause in causes_of(text)] == [
        ("Outer", "one"), ("Middle$Inner", ""), ("Root", "three"),
    ]  # fmt: skip


def test_secrets_are_hidden_wherever_the_text_comes_from() -> None:
    exc = RuntimeError(
        "An error occurred.\n: java.sql.SQLException: login failed for "
        "jdbc:x://me:p@ss/w@host?pw=p%40ss%2Fw and s3cret"
    )
    problem = explain_failure(exc, None, secrets=["p@ss/w", "s3cret", "", " "])
    assert problem.what == "Spark failed: SQLException: login failed for jdbc:x://me:***@host?pw=*** and ***"


def test_a_secret_on_the_edge_of_a_long_message_does_not_survive_the_cut() -> None:
    exc = RuntimeError("java.sql.SQLException: " + "x" * 577 + " topsecret")
    assert "topse" not in explain_failure(exc, None, secrets=["topsecret"]).what
