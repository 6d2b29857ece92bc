"""A bucket of very many objects: a server that lists S3 keys from a list, and counts the requests.

It has no objects to give: whoever asks for one is counted and told that it is not there. Unlike moto it
answers a page of 100,000 keys as quickly as one of a few.
"""

import threading
import time
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, urlsplit

BUCKET = "large"
_PAGE = 1000
_ENTRY = (
    "<Contents><Key>{key}</Key><LastModified>2026-11-01T00:00:00.000Z</LastModified>"
    "<ETag>&quot;{etag:032x}&quot;</ETag>"
    "<Size>10</Size><StorageClass>STANDARD</StorageClass></Contents>"
)


@dataclass
class LargeBucket:
    """``keys``: in order. ``asked``: requests of each kind. ``given``: keys in the answers to listings.

    ``refusing``: the status, code and message of what the next requests get in place of an answer, and how
    many; status 0: nothing at all.
    """

    keys: Sequence[str]
    endpoint: str = ""
    asked: Counter[str] = field(default_factory=Counter)
    given: int = 0
    refusing: tuple[int, str, str, int] | None = None

    def refusal(self) -> tuple[int, bytes] | None:
        if self.refusing is None or not self.refusing[3]:
            return None
        status, code, message, times = self.refusing
        self.refusing = (status, code, message, times - 1)
        return status, f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()

    def listed(self, query: dict[str, list[str]]) -> str:
        given = {name: values[0] for name, values in query.items()}
        prefix, delimiter = given.get("prefix", ""), given.get("delimiter", "")
        after = given.get("continuation-token") or given.get("start-after", "")
        at = max(bisect_left(self.keys, prefix), bisect_right(self.keys, after))
        entries: list[str] = []
        last = ""
        while len(entries) < _PAGE and at < len(self.keys) and self.keys[at].startswith(prefix):
            key = last = self.keys[at]
            head, found, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
            if found:
                folder = prefix + head + delimiter
                entries.append(f"<CommonPrefixes><Prefix>{quote(folder)}</Prefix></CommonPrefixes>")
                last = folder + "\U0010ffff"
                at = bisect_right(self.keys, last)
            else:
                entries.append(_ENTRY.format(key=quote(key), etag=at))
                at += 1
        more = at < len(self.keys) and self.keys[at].startswith(prefix)
        self.given += len(entries)
        token = f"<NextContinuationToken>{last}</NextContinuationToken>" if more else ""
        return (
            '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult'
            ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Name>{BUCKET}</Name><EncodingType>url</EncodingType>"
            f"<IsTruncated>{str(more).lower()}</IsTruncated>"
            f"{''.join(entries)}{token}</ListBucketResult>"
        )


@contextmanager
def large_bucket(keys: Sequence[str]) -> Iterator[LargeBucket]:
    """A server with these keys on loopback."""
    bucket, lock = LargeBucket(keys), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = parse_qs(parts.query, keep_blank_values=True)
            kind = "LIST" if "list-type" in query else "GET"
            with lock:
                bucket.asked[kind] += 1
                refused = bucket.refusal()
                body = bucket.listed(query).encode() if kind == "LIST" else b""
            self._answer(*(refused or (200 if body else 404, body)))

        def do_HEAD(self) -> None:
            with lock:
                bucket.asked["HEAD"] += 1
            self._answer(404, b"")

        def _answer(self, status: int, body: bytes) -> None:
            if status == 0:
                time.sleep(2)
                return
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    bucket.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield bucket
    finally:
        server.shutdown()
        server.server_close()
