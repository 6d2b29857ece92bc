"""What S3's refusals, and its silence, mean: an OSError for an object, a problem for a source. Pure.

boto3's errors are distinguished by their codes and names, so that it need not be imported here. Their texts
may name a bucket and a key, never a secret: they show an unknown key id only as S3 was sent it, and it is not
shown.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import Final

from lakesmith.errors import EnvironmentProblem, SourceError
from lakesmith.project.definitions import Source
from lakesmith.sources.names import printable

_GONE: Final = frozenset({"404", "NoSuchKey", "NotFound"})
_CHANGED: Final = frozenset({"412", "PreconditionFailed"})
_FORBIDDEN: Final = frozenset({"403", "AccessDenied", "AllAccessDisabled", "AccountProblem"})
_ARCHIVED: Final = frozenset({"InvalidObjectState"})


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of refusal: the problem's code, the text about the source, and the way out."""

    code: str
    what: str
    hint: str


_NO_BUCKET: Final = _Kind(
    "LS401",
    "its bucket does not exist",
    "correct `path`, or set the endpoint and region (`s3.endpoint`, `s3.region`) of the target's catalog",
)
_NOT_ALLOWED: Final = _Kind(
    "LS404",
    "it may not be listed",
    "give these credentials s3:ListBucket on the bucket and s3:GetObject on what is in it, or use others",
)
_NOT_KNOWN: Final = _Kind(
    "LS406",
    "S3 does not take the credentials, or there are none",
    "log in again, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or the target's"
    " `s3.access-key-id`"
    " and `s3.secret-access-key`; if the clock is reported to be off, set this machine's clock",
)
_SILENT: Final = _Kind(
    "LS407",
    "S3 does not answer",
    "check the network, and the endpoint and region of the target's catalog; then run again",
)
_OTHER: Final = _Kind(
    "LS404", "it cannot be listed", "check `path`, and the target's region, endpoint and credentials"
)
_OF_CREDENTIALS: Final = """
    ExpiredToken ExpiredTokenException RequestExpired TokenRefreshRequired InvalidToken InvalidAccessKeyId
    SignatureDoesNotMatch InvalidClientTokenId UnrecognizedClientException RequestTimeTooSkewed
    NoCredentialsError PartialCredentialsError CredentialRetrievalError TokenRetrievalError
    UnauthorizedSSOTokenError SSOTokenLoadError ProfileNotFound
"""
_OF_THE_WAY: Final = """
    SlowDown Throttling ThrottlingException RequestLimitExceeded ServiceUnavailable InternalError
    500 502 503 504
    EndpointConnectionError ConnectTimeoutError ReadTimeoutError ConnectionClosedError ConnectionError
    ProxyConnectionError SSLError HTTPClientError ResponseStreamingError IncompleteReadError
"""
_BY_CODE: Final = {
    "NoSuchBucket": _NO_BUCKET,
    **dict.fromkeys(_FORBIDDEN, _NOT_ALLOWED),
    **dict.fromkeys(_OF_CREDENTIALS.split(), _NOT_KNOWN),
    **dict.fromkeys(_OF_THE_WAY.split(), _SILENT),
}


def code_of(error: BaseException) -> str:
    """Returns S3's code of a refusal, or the name of another error."""
    response = getattr(error, "response", None) or {}
    return str(response.get("Error", {}).get("Code", "")) or type(error).__name__


def is_gone(error: Exception) -> bool:
    return code_of(error) in _GONE


def is_overtaken(error: BaseException) -> bool:
    """Returns whether S3 did not write an object because another request wrote or removed it before."""
    return code_of(error) in _GONE | _CHANGED | {"ConditionalRequestConflict"}


def os_error(path: str, error: Exception) -> OSError:
    """Returns what reading a file would have raised: not found, no permission, changed, or S3's own words."""
    code = code_of(error)
    if code in _GONE:
        return FileNotFoundError(errno.ENOENT, "no such object", path)
    if code in _CHANGED:
        return OSError(errno.ESTALE, "it is another object by now", path)
    if code in _FORBIDDEN:
        return PermissionError(errno.EACCES, "S3 does not let these credentials read it (s3:GetObject)", path)
    if code in _ARCHIVED:
        return OSError(errno.EIO, "it is in an archive (Glacier) and has to be restored first", path)
    return OSError(errno.EIO, in_words(error), path)


def in_words(error: Exception) -> str:
    """Returns the code and S3's text, in one line; for credentials the code alone."""
    code = code_of(error)
    if _BY_CODE.get(code) is _NOT_KNOWN:
        return code
    return printable(f"{code}: {error}".splitlines()[0])


def not_listed(source: Source, error: Exception) -> Exception:
    """Returns the problem of a source that cannot be listed: LS401 no bucket, LS404 no permission, LS406
    credentials, LS407 no answer."""
    if isinstance(error, EnvironmentProblem | SourceError):
        return error
    kind = _BY_CODE.get(code_of(error), _OTHER)
    return SourceError.of(
        kind.code,
        f"source {source.name!r}: {kind.what}",
        source.place,
        expected=f"{printable(source.path)}, which these credentials may list",
        found=in_words(error),
        hint=kind.hint,
    )
