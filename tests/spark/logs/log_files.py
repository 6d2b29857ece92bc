"""Logs for tests: lines of CloudFront with the fields that a case is about."""

from collections.abc import Mapping, Sequence

USUAL: Mapping[str, str] = dict(
    pair.split("|")
    for pair in """
date|2026-11-01,time|00:00:01,x-edge-location|FRA56-P4,sc-bytes|4512,c-ip|192.0.2.10,cs-method|GET,
cs(Host)|d111111abcdef8.cloudfront.net,cs-uri-stem|/index.html,sc-status|200,cs(Referer)|-,
cs(User-Agent)|curl/8.5.0,cs-uri-query|-,cs(Cookie)|-,x-edge-result-type|Hit,x-edge-request-id|id-1==,
x-host-header|-,cs-protocol|https,cs-bytes|-,time-taken|0.002,x-forwarded-for|-,ssl-protocol|-,ssl-cipher|-,
x-edge-response-result-type|Hit,cs-protocol-version|HTTP/2.0,fle-status|-,fle-encrypted-fields|-,c-port|-,
time-to-first-byte|-,x-edge-detailed-result-type|Hit,sc-content-type|-,sc-content-len|-,sc-range-start|-,
sc-range-end|-""".replace("\n", "").split(",")
)
FIELDS = tuple(USUAL)
"""The fields of CloudFront's standard log, in their order."""


def line(given: Mapping[str, str] | None = None, fields: Sequence[str] = FIELDS) -> str:
    values = {**USUAL, **(given or {})}
    return "\t".join(values[field] for field in fields)


def log(*records: Mapping[str, str], fields: Sequence[str] = FIELDS) -> str:
    """A log with a record for each of ``records``, which give the fields that are not as usual."""
    head = ["#Version: 1.0", f"#Fields: {' '.join(fields)}"]
    return "\n".join([*head, *(line(record, fields) for record in records), ""])
