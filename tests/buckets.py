"""Buckets with versions and their replicas, played by moto, which copies nothing by itself."""

import gzip
import io
from collections.abc import Iterator
from typing import Any

import fastavro
import pyarrow.parquet as pq


def keep_versions(client: Any, bucket: str) -> None:
    client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})


def make_replica(client: Any, bucket: str, there: Any = None) -> str:
    """Makes the bucket that S3 is told to copy another one to, both with versions. ``there``: a client of the
    region that has the copy."""
    replica = f"{bucket}-replica"
    (there or client).create_bucket(Bucket=replica)
    keep_versions(client, bucket)
    keep_versions(there or client, replica)
    rule = {"Status": "Enabled", "Prefix": "", "Destination": {"Bucket": f"arn:aws:s3:::{replica}"}}
    configuration = {"Role": "arn:aws:iam::123456789012:role/replication", "Rules": [rule]}
    client.put_bucket_replication(Bucket=bucket, ReplicationConfiguration=configuration)
    return replica


def replicate(
    client: Any, bucket: str, replica: str, leaving: frozenset[str] = frozenset(), there: Any = None
) -> None:
    """Copies what differs in the replica, but for the keys ``leaving``, and deletes what is gone. ``there``:
    as of ``make_replica``."""
    there = there or client
    here, copied = current(client, bucket), current(there, replica)
    for key, etag in here.items():
        if copied.get(key) != etag and key not in leaving:
            content = client.get_object(Bucket=bucket, Key=key)["Body"].read()
            there.put_object(Bucket=replica, Key=key, Body=content)
    for key in copied.keys() - here.keys():
        there.delete_object(Bucket=replica, Key=key)


def current(client: Any, bucket: str) -> dict[str, str]:
    """The keys that are there, each with its ETag."""
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket)
    return {each["Key"]: each["ETag"] for page in pages for each in page.get("Contents", ())}


def versions(client: Any, bucket: str) -> Iterator[tuple[str, str]]:
    """Every version of every object: its key and its id."""
    for page in client.get_paginator("list_object_versions").paginate(Bucket=bucket):
        for each in page.get("Versions", ()):
            yield each["Key"], each["VersionId"]


def holding(client: Any, bucket: str, word: str) -> list[str]:
    """The keys of versions that have a word in their name or their content, unpacked."""
    found = []
    for key, version in versions(client, bucket):
        content = client.get_object(Bucket=bucket, Key=key, VersionId=version)["Body"].read()
        if word in key or word in _text(content):
            found.append(key)
    pages = client.get_paginator("list_object_versions").paginate(Bucket=bucket)
    markers = (each["Key"] for page in pages for each in page.get("DeleteMarkers", ()))
    return sorted([*found, *(key for key in markers if word in key)])


def _text(content: bytes) -> str:
    if content.startswith(b"PAR1"):
        table = pq.read_table(io.BytesIO(content))
        return str(table.to_pylist()) + str(pq.read_metadata(io.BytesIO(content)).metadata)
    if content.startswith(b"Obj\x01"):
        return str(list(fastavro.reader(io.BytesIO(content))))
    if content.startswith(b"\x1f\x8b"):
        content = gzip.decompress(content)
    return content.decode("utf-8", "replace")
