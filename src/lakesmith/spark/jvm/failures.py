"""Explains a failure in Spark in one or two lines: the root cause, from the exception's text alone, as the
JVM may be dead."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from lakesmith.catalog import busy
from lakesmith.errors import LakesmithError, Problem, RunError
from lakesmith.execute.circumstances import DISK_FULL, NOT_ALLOWED, denied_access, denied_space, passed
from lakesmith.redaction import redacted
from lakesmith.sql.log_functions import ON_WORKERS

FAILURES = (Py4JError, PySparkException, ConnectionError)
"""What a call in Spark fails with. ConnectionError: nobody listens where the JVM did."""
_LOST = frozenset({"LS602", "LS604"})
"""Codes of a JVM that has died."""
_END_SECONDS = 1.0
LOG_TAIL_BYTES = 4096
LONGEST = 600

_CAUSE = re.compile(r"^(?:Caused by: |: )?(?P<name>(?:[a-z_]\w*\.)+[A-Z][\w$]*): ?(?P<message>.*)$")
_BARE_CAUSE = re.compile(r"^(?:Caused by: |: )(?P<name>(?:[a-z_]\w*\.)+[A-Z][\w$]*)(?P<message>)$")
_FRAME = re.compile(
    r"^\s+(?:at |\.\.\. \d+ (?:more|common))|^\s+Suppressed: |^Driver stacktrace:|^JVM stacktrace:"
)
_LOST_TASK = re.compile(r"most recent failure: .*? \(TID \d+\)(?: \([^)]*\))?: ")
# Where the message of an AnalysisException goes on with the query plan, or a ParseException with the query.
_DETAIL = re.compile(r"^(?:== SQL|'?[A-Z]\w+ (?:\[|unresolved)|'?[A-Z]\w+\b.*#\d|[+:]-|\s+[+:]-|\s*$)")
_PYTHON_PLACE = re.compile(r'^ +File "(?P<file>[^"]+)", line (?P<line>\d+)')
_SQL_STATE = re.compile(r" SQLSTATE: \w{5}\b")
_ERROR_CLASS = re.compile(r"\[[A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*\]")

_OF_VALUES = (
    "PythonException",
    "SparkNumberFormatException",
    "SparkDateTimeException",
    "SparkArithmeticException",
    "SparkArrayIndexOutOfBoundsException",
    "SparkRuntimeException",
    "SparkIllegalArgumentException",
    "SparkUpgradeException",
)
"""Exceptions that tasks end with because of the rows at hand."""

_DEAD = (
    "py4j.protocol.Py4JNetworkError",
    "Answer from Java side is empty",
    "while trying to connect to the Java server",
    # How Py4J tells that nobody answered when it was asked for a class: no class that is used here is
    # missing.
    "does not exist in the JVM",
)
_NO_ANSWER = re.compile(r"Py4JError: An error occurred while calling \S+$", re.MULTILINE)
"""How Py4J tells that the connection broke in the middle of a call: an error of Java's would have a trace."""
_NO_MEMORY = (
    "java.lang.OutOfMemoryError",
    "SparkOutOfMemoryError",
    "insufficient memory for the Java Runtime",
)
_CLOCK_BEHIND = re.compile(r"Invalid (?:update|snapshot) timestamp \d+: before \D*(?P<last>\d+)")
"""How Iceberg refuses a commit before the one that it follows; the time in milliseconds since 1970."""
UNANSWERED = (
    "CommitStateUnknownException",
    "UncheckedSQLException",
    # Of REST catalogs: the connection ended before there was an answer; a server that is overloaded.
    "RESTException",
    "ServiceFailureException",
    "ServiceUnavailableException",
)
"""How Iceberg tells that a catalog did not answer, or failed at what it was asked."""
_OWN_LIST_REMOVED = re.compile(r"ManifestLists\.read\b.*\bSnapshotProducer\.commit\b", re.DOTALL)
"""Where a commit fails of which a server answered twice, first that it was done, then of a conflict over
that: Iceberg 1.10 believes the second, removes what it wrote, and needs it when it tries again."""
_ADDED_MEANWHILE = "Found concurrently added"
_NO_VARIANT = "UnsupportedOperationException: Not implemented for variant"


@dataclass(frozen=True, slots=True)
class Cause:
    """One exception of a chain: its class without the package, and its message without frames."""

    name: str
    message: str

    def __str__(self) -> str:
        """The message; with the exception's name unless it has an error class or comes from Python."""
        if not self.message:
            return self.name
        if self.name == "PythonException":
            return self.message
        return self.message if _ERROR_CLASS.search(self.message) else f"{self.name}: {self.message}"


def explain_failure(exc: BaseException, log_path: Path | None, secrets: Iterable[str] = ()) -> Problem:
    """What failed, from any exception that Spark, Py4J or this machine raised.

    Args:
        exc: the exception as it was caught.
        log_path: Spark's log. The whole text of the exception goes there, and the hint names it.
        secrets: values that must not be shown.

    Returns:
        LS602 out of memory, LS603 disk full, LS604 the JVM died, LS605 not permitted or read-only, LS702 the
        catalog is locked, else LS601. A LakesmithError gives its own first problem.
    """
    if isinstance(exc, LakesmithError):
        return exc.problems[0]
    text = full_text(exc)
    code, what, hint = _kind(exc, text, log_path)
    causes = causes_of(text)
    root, outer = causes[-1], causes[0]
    said = _shortened(redacted(str(root), secrets))
    around = _shortened(redacted(str(outer), secrets)) if _adds(outer, root) else None
    log = _logged(text, log_path, secrets)
    return Problem(
        code=code,
        what=what if code == "LS604" else f"{what}: {said}",
        found=said if code == "LS604" else around,
        hint="; ".join(part for part in (hint, log) if part) or None,
    )


def explain_in_session(
    exc: BaseException, log_path: Path, is_alive: Callable[[], bool], secrets: Iterable[str] = ()
) -> RunError | None:
    """Returns an error with the root cause of what Spark failed with; None for an exception that Spark has no
    part in.

    ``is_alive``: whether the JVM's process is there. If not, whatever fails in it fails for that (LS604,
    LS602).
    """
    has_ended = _has_ended(is_alive, patience=_END_SECONDS if passed(exc, "pyspark", "py4j") else 0.0)
    if not has_ended and not isinstance(exc, Py4JError | PySparkException) and not passed(exc, "py4j"):
        return None
    problem = explain_failure(exc, log_path, secrets)
    if has_ended and problem.code not in _LOST:
        code, what, hint = _dead(log_path)
        problem = replace(problem, code=code, what=what, found=problem.what, hint=hint)
    return RunError(problem)


def _has_ended(is_alive: Callable[[], bool], patience: float) -> bool:
    """Returns whether the JVM has ended: its connections end before its process does."""
    until = time.monotonic() + patience
    while is_alive():
        if time.monotonic() >= until:
            return False
        time.sleep(_END_SECONDS / 20)
    return True


def is_loss(problems: Iterable[Problem]) -> bool:
    """Returns whether something failed because the JVM died: it would not fail in another one."""
    return any(problem.code == "LS604" for problem in problems)


def is_unanswered(exc: BaseException) -> bool:
    """Whether a catalog did not say what became of a commit, or Iceberg misunderstood what it said."""
    text = full_text(exc)
    return any(cause.name in UNANSWERED for cause in causes_of(text)) or bool(_OWN_LIST_REMOVED.search(text))


def is_beaten(exc: BaseException) -> bool:
    """Returns whether a commit lost to concurrent ones. On a working branch, "concurrently added" files are
    our own, from a request sent twice."""
    causes = causes_of(full_text(exc))
    return any(cause.name == "CommitFailedException" or _ADDED_MEANWHILE in str(cause) for cause in causes)


def wrong_value(exc: BaseException, secrets: Iterable[str]) -> str | None:
    """Returns the value Spark could not compute with, such as a text that is not a number, or None."""
    root = causes_of(full_text(exc))[-1]
    return _shortened(redacted(str(root), secrets)) if root.name in _OF_VALUES else None


def full_text(exc: BaseException) -> str:
    """The text of an exception and of the Python exceptions it came from, the outermost first."""
    return "\n".join(map(_own_text, _chain(exc)))


def is_interrupt(exc: BaseException) -> bool:
    """Whether an exception came of Ctrl-C: Py4J ends the connection then, and what tidies up finds it so."""
    return any(isinstance(each, KeyboardInterrupt) for each in _chain(exc))


def _chain(exc: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = exc
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def causes_of(text: str) -> list[Cause]:
    """The chain of causes in the text of an exception, from the outermost to the deepest; at least one."""
    causes: list[Cause] = []
    lines = iter(_unwrapped(text).splitlines())
    message: list[str] | None = None
    name = ""
    for line in lines:
        match = _CAUSE.match(line) or _BARE_CAUSE.match(line)
        if match or (_FRAME.match(line) and message is not None):
            _add(causes, name, message)
            message = [match["message"]] if match else None
            name = match["name"].rsplit(".", 1)[-1] if match else ""
        elif message is not None:
            message.append(line)
    _add(causes, name, message)
    return causes or [_plain(text)]


def _own_text(exc: BaseException) -> str:
    """The exception's class and text; PySpark keeps the Java frames, with the causes, apart from the text."""
    frames = getattr(exc, "_stackTrace", None)
    name = f"{type(exc).__module__}.{type(exc).__name__}"
    own = f"{name}: {str(exc).split('JVM stacktrace:')[0].strip()}"
    return f"{own}\n{frames}" if isinstance(frames, str) else own


def _unwrapped(text: str) -> str:
    return _LOST_TASK.sub("most recent failure:\n", text)


def _add(causes: list[Cause], name: str, message: list[str] | None) -> None:
    if message is None or name in ("Py4JJavaError",):
        return
    cause = Cause(name, _first_sentence(message))
    if not cause.message.startswith("Job aborted") and cause not in causes:
        causes.append(cause)


def _first_sentence(lines: list[str]) -> str:
    """Returns a message without the query, the plan and most of a Python traceback."""
    text = "\n".join(lines)
    if "Traceback (most recent call last)" in text:
        return _end_of_traceback(lines)
    kept = [lines[0]]
    for line in lines[1:]:
        if _DETAIL.match(line):
            break
        kept.append(line.strip())
    return _SQL_STATE.sub("", " ".join(kept)).strip().rstrip(";")


def _end_of_traceback(lines: list[str]) -> str:
    """Returns the exception at the end of a Python traceback, with the last place outside PySpark."""
    ends = [line for line in lines if re.match(r"^[A-Za-z_][\w.]*(?::|$)", line) and "Traceback" not in line]
    places = [
        match for line in lines if (match := _PYTHON_PLACE.match(line)) and "/pyspark/" not in match["file"]
    ]
    place = f" ({places[-1]['file']}:{places[-1]['line']})" if places else ""
    return f"{ends[-1] if ends else lines[0]}{place}"


def _plain(text: str) -> Cause:
    """The cause of an exception that names no Java class: its first line."""
    first = next((line for line in text.splitlines() if line.strip()), "unknown")
    name, _, message = first.partition(": ")
    return Cause(name.rsplit(".", 1)[-1], message)


def _adds(outer: Cause, root: Cause) -> bool:
    """Returns whether the outermost exception has an error class that the root does not mention."""
    mine = _ERROR_CLASS.search(outer.message)
    return mine is not None and mine.group() not in root.message


def _kind(exc: BaseException, text: str, log_path: Path | None) -> tuple[str, str, str | None]:
    number = getattr(exc, "errno", None)
    if denied_space(text, number):
        return DISK_FULL.code, DISK_FULL.what, DISK_FULL.hint
    if _any(_NO_MEMORY, text):
        return _out_of_memory()
    if denied_access(text, number):
        return NOT_ALLOWED.code, NOT_ALLOWED.what, NOT_ALLOWED.hint
    if busy.says_busy(text):
        return "LS702", busy.HELD.format(""), busy.WHAT_TO_DO
    if _any(_DEAD, text) or isinstance(exc, ConnectionError) or _NO_ANSWER.search(text):
        return _dead(log_path)
    if behind := _CLOCK_BEHIND.search(text):
        last = datetime.fromtimestamp(int(behind["last"]) // 1000, UTC)
        return (
            "LS601",
            "this machine's clock is behind the table's last change",
            f"set the clock right, or run again after {last:%Y-%m-%d %H:%M:%S} UTC",
        )
    return _otherwise(text)


def _dead(log_path: Path | None) -> tuple[str, str, str]:
    if _any(_NO_MEMORY, _tail(log_path)):
        return _out_of_memory()
    return "LS604", "Spark's JVM died", "run again: what was not published is done again"


def _otherwise(text: str) -> tuple[str, str, str | None]:
    if _NO_VARIANT in text:
        hint = (
            'set spark.sql.iceberg.vectorization.enabled: "false" under spark: of the target, or use '
            "Iceberg 1.11"
        )
        return "LS601", "this version of Iceberg cannot read files with variants so", hint
    if ON_WORKERS in text:
        hint = "install ua-parser[regex] and these rules where Spark's workers run, or the same here"
        return "LS314", "Spark's workers lack what a function needs", hint
    file = file_in(text)
    return "LS601", f"Spark could not read {file}" if file else "Spark failed", None


def _logged(text: str, log_path: Path | None, secrets: Iterable[str]) -> str | None:
    if log_path is None:
        return None
    try:
        log_path.parent.mkdir(parents=True, exist_ok=True)
        with log_path.open("a", encoding="utf-8", errors="replace") as log:
            log.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f} lakesmith: {redacted(text, secrets)}\n")
    except OSError:
        return None
    return f"Spark's log: {log_path}"


def _out_of_memory() -> tuple[str, str, str]:
    return (
        "LS602",
        "Spark ran out of memory",
        "give the target more with spark.driver.memory, or use fewer cores",
    )


def _any(words: tuple[str, ...], text: str) -> bool:
    return any(word in text for word in words)


def _tail(log_path: Path | None) -> str:
    if log_path is None or not log_path.is_file():
        return ""
    with log_path.open("rb") as log:
        log.seek(max(0, log_path.stat().st_size - LOG_TAIL_BYTES))
        return log.read().decode(errors="replace")


def _shortened(text: str) -> str:
    text = re.sub(r"\s+", " ", text).strip()
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


_FILE_IN_MESSAGE = (
    re.compile(r"Encountered error while reading file (\S.*?)\.\s+(?:SQLSTATE|[A-Z][a-z]+ )"),
    re.compile(r"(?:Could not read footer|Could not read footer for file):? (?:file: )?(\S.*?)\. "),
    re.compile(r"(file:/\S+?) is not a (?:Parquet|Avro) file"),
)


def unreadable_file(error: BaseException) -> str | None:
    """Returns the path or URI of the file that caused ``error``, or None. Spark URL-encodes it
    (FAILED_READ_FILE), in any cause."""
    seen: BaseException | None = error
    while seen is not None:
        for text in (str(seen), _java_trace(seen)):
            if found := file_in(text):
                return found
        seen = seen.__cause__ or seen.__context__
    return None


def file_in(text: str) -> str | None:
    """As ``unreadable_file``, of the text of an exception."""
    for pattern in _FILE_IN_MESSAGE:
        if found := pattern.search(text):
            return _plain_path(found.group(1))
    return None


def _java_trace(error: BaseException) -> str:
    trace = getattr(error, "getStackTrace", None)
    return str(trace() or "") if callable(trace) else ""


def _plain_path(uri: str) -> str:
    path = unquote(uri)
    return re.sub(r"^file:/+", "/", path)
