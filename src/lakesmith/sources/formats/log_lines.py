r"""Logs whose lines follow a grammar: of load balancers, of S3, of Apache and nginx.

The whole of a line must match one regular expression with a group for each field. Python and Java read it
alike. Quantifiers inside quotes are possessive, so that a long line takes time in proportion to its length.

- https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-access-logs.html
- https://docs.aws.amazon.com/AmazonS3/latest/userguide/LogFormat.html
- https://httpd.apache.org/docs/2.4/mod/mod_log_config.html#formats
- https://nginx.org/en/docs/http/ngx_http_log_module.html#log_format
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

from lakesmith.project.definitions import Source
from lakesmith.project.formats import FileFormat, FormatPart, parts_of

_WORD: Final = "([^ ]++)"
_TEXT: Final = r"""(?:"((?:[^"\\]++|\\.)*+)"|-)"""
_MAYBE_QUOTED: Final = r"""\"?+((?<=")(?:[^"\\]++|\\.)*+|[^ "]++)\"?+"""
"""A list that older lines have without quotes."""
_TIME: Final = r"\[([^\]]*+)\]"
_REST: Final = "(?: .*+)?+"
_QUOTES_WITHIN: Final = '(?:"(.*?)"|-)'
"""A text in which quotes are not escaped: it ends where the fields after it fit, which have none."""
_PLAIN_WORD: Final = '([^ "]++)'
_USER: Final = r"([^ ]++|(?<= - )[^ ]++(?: (?!\[)[^ ]*+)++)"
"""A name that may have blanks, as Apache writes it. Only after ``-``, or a host before the address is taken
for the address, and the rest for a name."""


class Encoding(Enum):
    """How the texts of a field are written."""

    NONE = "none"
    PERCENT = "percent"
    """``%XX``, decoded once."""
    MAYBE_TWICE = "maybe twice"
    """``%XX``, decoded twice if all escapes are of the form ``%25XX``."""
    KEY = "key"
    """A key of S3: encoded twice, but once by operations of S3 itself."""
    BACKSLASH = "backslash"
    r"""``\xXX``, ``\"`` and ``\\``."""


class Form(Enum):
    """What a field looks like in a usual line."""

    WORD = "word"
    TEXT = "text"
    """In quotes, without quotes in it."""
    ENDPOINT = "endpoint"
    """``ADDRESS:PORT``, a word of two fields."""
    TIME = "time"
    """``[10/Oct/2000:13:55:36 -0700]``, two words of one field."""


@dataclass(frozen=True, slots=True)
class LogField:
    r"""A field of a log. ``null``: the texts besides ``-`` that are no value."""

    name: str
    type: str = "string"
    encoding: Encoding = Encoding.NONE
    null: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grammar:
    """A kind of lines: its fields, and the regular expression with a group for each.

    ``presence``: the same with an empty group behind each field that older lines lack. ``forms``: the form of
    each field, or pair of fields, in a usual line; empty if none is known. ``required``: how many of them
    all lines have.
    """

    fields: tuple[LogField, ...]
    pattern: str
    presence: str = ""
    forms: tuple[Form, ...] = ()
    required: int = 0

    def fits(self, line: str) -> bool:
        return re.fullmatch(self.pattern, line, re.DOTALL) is not None

    def absent(self, lines: Iterable[str]) -> tuple[str, ...]:
        """Returns the names of the fields that none of the lines has."""
        found = [each for line in lines if (each := re.fullmatch(self.presence, line, re.DOTALL))]
        return tuple(
            name for name in re.compile(self.presence).groupindex if all(it[name] is None for it in found)
        )


@lru_cache(maxsize=32)
def _grammar(kind: FileFormat, log_format: str | None) -> Grammar:
    if kind is FileFormat.COMBINED:
        return _of_format(parts_of(log_format)) if log_format else _COMBINED
    return _ALB if kind is FileFormat.ALB else _S3


def grammar_of(source: Source) -> Grammar:
    """Returns the grammar of a source's lines."""
    return _grammar(source.format, source.csv.log_format)


def _made(required: list[tuple[str, str]], optional: list[tuple[str, str]], types: dict[str, str]) -> Grammar:
    """A grammar of fields with their patterns, divided by single blanks. Anything may follow all of them.

    ``optional``: the fields that newer lines have, in their order.
    """
    head, tail = " ".join(each for _, each in required), _REST + ")?+" * len(optional)
    pattern = head + "".join(f"(?: {each}" for _, each in optional) + tail
    presence = head + "".join(f"(?: {each}(?P<{name}>)" for name, each in optional) + tail
    names = [name for several, _ in (*required, *optional) for name in several.split()]
    fields = (LogField(name, types.get(name, "string"), *_SPECIAL.get(name, ())) for name in names)
    forms = tuple(_FORMS[each] for _, each in (*required, *optional))
    return Grammar(tuple(fields), pattern, presence, forms, len(required))


_SPECIAL: Final[dict[str, tuple[Encoding, tuple[str, ...]]]] = {
    **dict.fromkeys(("request", "user_agent", "referer"), (Encoding.BACKSLASH, ())),
    "key": (Encoding.KEY, ()),
    **dict.fromkeys(
        ("request_processing_time", "target_processing_time", "response_processing_time"),
        (Encoding.NONE, ("-1",)),
    ),
}
_ENDPOINT: Final = r"(?:([^ ]*):(\d++)|-)"
_FORMS: Final = {
    **dict.fromkeys((_WORD, _PLAIN_WORD, _USER), Form.WORD),
    **dict.fromkeys((_TEXT, _MAYBE_QUOTED, _QUOTES_WITHIN), Form.TEXT),
    _ENDPOINT: Form.ENDPOINT,
    _TIME: Form.TIME,
}


def _words(names: str) -> list[tuple[str, str]]:
    return [(name, _WORD) for name in names.split()]


def _texts(names: str) -> list[tuple[str, str]]:
    return [(name, _TEXT) for name in names.split()]


_ALB: Final = _made(
    [
        *_words("type time_iso8601 elb"),
        ("client_ip client_port", _ENDPOINT),
        ("target_ip target_port", _ENDPOINT),
        *_words("request_processing_time target_processing_time response_processing_time elb_status_code"),
        *_words("target_status_code received_bytes sent_bytes"),
        *_texts("request user_agent"),
        *_words("ssl_cipher ssl_protocol target_group_arn"),
    ],
    [
        *_texts("trace_id domain_name chosen_cert_arn"),
        *_words("matched_rule_priority request_creation_time"),
        *_texts("actions_executed redirect_url error_reason"),
        *((name, _MAYBE_QUOTED) for name in ("target_port_list", "target_status_code_list")),
        *_texts("classification classification_reason"),
        *_words("conn_trace_id"),
        *_texts("transformed_host transformed_uri"),
        *_words("request_transform_status"),
    ],
    {
        **dict.fromkeys(("elb_status_code", "target_status_code", "matched_rule_priority"), "int"),
        **dict.fromkeys(("client_port", "target_port"), "int"),
        **dict.fromkeys(("received_bytes", "sent_bytes"), "bigint"),
        **dict.fromkeys(("request_processing_time", "target_processing_time"), "double"),
        "response_processing_time": "double",
        "request_creation_time": "timestamp",
    },
)
_S3: Final = _made(
    [
        *_words("bucket_owner bucket"),
        ("time_local", _TIME),
        *_words("remote_ip requester request_id operation key"),
        *_texts("request"),
        *_words("http_status error_code bytes_sent object_size total_time turn_around_time"),
        *_texts("referer"),
        ("user_agent", _QUOTES_WITHIN),
    ],
    [
        (name, _PLAIN_WORD)
        for name in (
            *("version_id", "host_id", "signature_version", "cipher_suite", "authentication_type"),
            *("host_header", "tls_version", "access_point_arn", "acl_required", "source_region"),
        )
    ],
    {
        "http_status": "int",
        **dict.fromkeys(("bytes_sent", "object_size", "total_time", "turn_around_time"), "bigint"),
    },
)
_COMBINED: Final = _made(
    [
        *_words("remote_address ident"),
        ("remote_user", _USER),
        ("time_local", _TIME),
        *_texts("request"),
        *_words("status body_bytes_sent"),
    ],
    _texts("referer user_agent"),
    {"status": "int", "body_bytes_sent": "bigint"},
)


def _of_format(parts: tuple[FormatPart, ...]) -> Grammar:
    """The grammar of a declared format: each variable ends at the text that follows it."""
    pattern, fields = "", []
    for before, part, after in zip(("", *parts), parts, (*parts[1:], ""), strict=False):
        if not part.is_variable:
            pattern += re.escape(part.text)
            continue
        ahead, behind = (str(getattr(each, "text", each)) for each in (after, before))
        pattern += _until(ahead[:1], quoted=behind.endswith('"'))
        fields.append(LogField(part.text, part.type, Encoding.BACKSLASH))
    return Grammar(tuple(fields), pattern + _REST)


def _until(end: str, quoted: bool) -> str:
    if quoted and end == '"':
        return r'((?:[^"\\]++|\\.)*+)'
    if end == ":":  # A port follows, perhaps behind an address of version 6 in brackets.
        return r"(\[[^\]]*+\](?=:)|[^:]*+)"
    return f"([^{re.escape(end)}]*+)" if end else "([^ ]*+)"
