"""Erases old versions of objects, in the lake's buckets and in their replicas.

A bucket with versioning keeps what is deleted or replaced: S3 hides it behind a delete marker or a newer
version. A replica gets both, but never the deletion of a version. So an erasure deletes by version id:

- Below the folders of the erased tables and their exports: all that is not current. Files of tables never
  change in place, so nothing else needs these versions.
- Below landing folders: versions that have the values or names of the persons, and those that cannot be read
  as text.
- In a replica a version stays only if it is the copy of an object that is current in the lake. Replication
  takes minutes, so what is current there may be what was just replaced here. Replicas are listed first.

What is to be erased follows from what is there, so an erasure that was killed continues with the same call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from lakesmith.catalog.family import family
from lakesmith.execute.erase import Erasure
from lakesmith.execute.faults import reach
from lakesmith.execute.lake import Lake
from lakesmith.exports.traces import all_traces
from lakesmith.project.definitions import TableDefinition, is_object
from lakesmith.sources.object_errors import code_of, in_words
from lakesmith.sources.objects import bucket_and_key, client_of
from lakesmith.sources.without_persons import Wanted, stand_in_file
from lakesmith.sql.erasure_filter import ErasureFilter

_AT_ONCE: Final = 1000
_PACKED: Final = (b"PAR1", b"Obj\x01", b"ORC", b"PK\x03\x04")
"""How files begin whose values are not there as they are: Parquet, Avro, ORC, Excel."""
_OTHER_PLACES: Final = "write.data.path", "write.metadata.path", "write.object-storage.path"
_NONE_THERE: Final = {"NoSuchBucket", "NoSuchLifecycleConfiguration", "ReplicationConfigurationNotFoundError"}


@dataclass(frozen=True, slots=True)
class Prefix:
    """What keys of a bucket begin with. ``whole``: nothing that is not current is needed there."""

    bucket: str
    start: str
    whole: bool


@dataclass(frozen=True, slots=True)
class Version:
    """A version of an object, or a delete marker (without a size)."""

    key: str
    id: str
    etag: str = ""
    size: int | None = None
    is_latest: bool = False

    @property
    def is_marker(self) -> bool:
        return self.size is None

    def is_copy_of(self, other: Version | None) -> bool:
        """Whether a replica's version is the copy of this one: it has its id, or its bytes."""
        if other is None or self.is_marker:
            return False
        return self.id == other.id or (self.etag, self.size) == (other.etag, other.size)


@dataclass
class ErasedVersions:
    """What an erasure did to old versions: how many went, where it looked, and what is ``left`` in words."""

    deleted: int = 0
    buckets: set[str] = field(default_factory=set)
    left: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """For the receipt; without ``left``, which is with all else that is left."""
        return {"deleted": self.deleted, "buckets": sorted(self.buckets)}


def erase_versions(lake: Lake, erasure: Erasure, declared: Mapping[str, str]) -> ErasedVersions:
    """Erases old versions once the tables and landing files are clean. ``declared``: the replica of a bucket,
    by its name. What S3 refuses is in ``left``, with the day on which it ends by itself."""
    done = ErasedVersions()
    prefixes = sorted(_prefixes(lake, erasure), key=lambda each: (each.bucket, each.start))
    if not prefixes:
        return done
    client = client_of(lake.project.target.store)
    erasing = _Erasing(client, erasure.persons, done)
    for prefix in prefixes:
        done.buckets.add(prefix.bucket)
        try:
            copies = {*replicas_of(client, prefix.bucket), *filter(None, [declared.get(prefix.bucket)])}
        except Exception as error:  # noqa: BLE001 - any answer but a list leaves it open
            copies = {*filter(None, [declared.get(prefix.bucket)])}
            if not copies:
                done.left.append(
                    f"whether s3://{prefix.bucket} is copied to other buckets, which may have rows of theirs,"
                    f" is not known ({in_words(error)}): allow s3:GetReplicationConfiguration"
                )
        erasing.below(prefix, sorted(copies))
    return done


def require_client(lake: Lake, erasure: Erasure) -> None:
    """Requires what ``erase_versions`` needs at the end of an erasure, before anything is changed.

    Raises EnvironmentProblem LS330, LS339 if places are in S3 and no client can be made.
    """
    if _prefixes(lake, erasure):
        client_of(lake.project.target.store)


def _prefixes(lake: Lake, erasure: Erasure) -> set[Prefix]:
    tables = {name: lake.project.table(name) for name in erasure.tables}
    places = [(path, True) for path in _folders(lake, erasure)]
    places += [
        (trace.place, True)
        for name in tables
        if (state := lake.catalog.table(name.layer, name.name)) is not None
        for trace in all_traces(lake.project, name, state)
    ]
    places += [(path, False) for name in erasure.sourced for path in _landing(tables[name])]
    found = set[Prefix]()
    for path, whole in places:
        if is_object(path):
            bucket, start = bucket_and_key(path)
            found.add(Prefix(bucket, f"{start.rstrip('/')}/" if start else "", whole))
    return found


def _folders(lake: Lake, erasure: Erasure) -> Iterator[str]:
    """The folders of tables and their sidecars. S3 Tables lets nobody list them and keeps no versions."""
    if lake.project.target.type == "s3tables":
        return
    for name in (each for table in erasure.tables for each in family(table)):
        state = lake.catalog.table(name.layer, name.name)
        if state is not None:
            yield state.location
            yield from (state.properties[each] for each in _OTHER_PLACES if each in state.properties)


def _landing(table: TableDefinition) -> Iterator[str]:
    for source in table.sources:
        if source.has_files and source.is_in_store and source.on_erase != "keep":
            yield source.path


def replicas_of(client: Any, bucket: str) -> dict[str, bool]:
    """The buckets that S3 copies a bucket to, each with whether a rule for it is enabled. Raises what S3
    answers."""
    try:
        answer = client.get_bucket_replication(Bucket=bucket)
    except Exception as error:
        if code_of(error) in _NONE_THERE:
            return {}
        raise
    found: dict[str, bool] = {}
    for rule in answer["ReplicationConfiguration"]["Rules"]:
        copy = rule["Destination"]["Bucket"].rpartition(":")[2]
        found[copy] = found.get(copy, False) or rule["Status"] == "Enabled"
    return found


@dataclass(frozen=True)
class _Erasing:
    client: Any
    persons: ErasureFilter
    done: ErasedVersions

    def below(self, prefix: Prefix, copies: Sequence[str]) -> None:
        """Erases below a prefix, in the replicas ``copies`` too."""
        there = {copy: self._listed(copy, prefix) or [] for copy in copies}
        here = self._listed(prefix.bucket, prefix)
        if here is None:
            return
        current = {each.key: each for each in here if each.is_latest and not each.is_marker}
        self._erase(prefix.bucket, prefix, here, lambda each: each.is_latest and not each.is_marker)
        for copy, versions in there.items():
            self.done.buckets.add(copy)
            self._erase(copy, prefix, versions, lambda each: each.is_copy_of(current.get(each.key)))

    def _listed(self, bucket: str, prefix: Prefix) -> list[Version] | None:
        """Returns the versions below a prefix; None if there is no such bucket, or if it cannot be listed,
        which is said."""
        pages = self.client.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix=prefix.start)
        try:
            return [version for page in pages for version in _versions(page)]
        except Exception as error:  # noqa: BLE001 - whatever S3 answers, it is said
            if code_of(error) == "NoSuchBucket":
                return None
            self._leave(bucket, prefix, "cannot be listed", in_words(error))
            return None

    def _erase(
        self, bucket: str, prefix: Prefix, versions: Iterable[Version], stays: Callable[[Version], bool]
    ) -> None:
        by_key: dict[str, list[Version]] = {}
        for each in versions:
            by_key.setdefault(each.key, []).append(each)
        going, markers = list[Version](), list[Version]()
        for found in by_key.values():
            gone = [each for each in found if not stays(each) and self._is_theirs(bucket, prefix, each)]
            going += [each for each in gone if not each.is_marker]
            # A marker that hides a version has to stay: without it the version is current again.
            if all(each in gone for each in found if not each.is_marker):
                markers += [each for each in found if each.is_marker]
        refused = self._delete(bucket, going)
        refused |= self._delete(bucket, [each for each in markers if each.key not in refused])
        if refused:
            count = f"{len(refused)} object{'s' if len(refused) > 1 else ''}"
            self._leave(bucket, prefix, f"of {count} cannot be deleted", ", ".join(set(refused.values())))

    def _is_theirs(self, bucket: str, prefix: Prefix, version: Version) -> bool:
        if prefix.whole or version.is_marker or self.persons.are_named_in(version.key, surely=True):
            return True
        try:
            answer = self.client.get_object(Bucket=bucket, Key=version.key, VersionId=version.id)
            content = answer["Body"].read()
        except Exception as error:  # noqa: BLE001 - unread, it counts as theirs only if it is still there
            if code_of(error) not in ("NoSuchVersion", "NoSuchKey"):
                self._leave(bucket, prefix, "cannot be read", in_words(error))
            return False
        return content.startswith(_PACKED) or stand_in_file(Wanted((), self.persons.values), content)

    def _delete(self, bucket: str, versions: Iterable[Version]) -> dict[str, str]:
        """Deletes versions. Returns S3's word of those that it refused, by key."""
        refused: dict[str, str] = {}
        every = list(versions)
        for begin in range(0, len(every), _AT_ONCE):
            some = every[begin : begin + _AT_ONCE]
            objects = [{"Key": each.key, "VersionId": each.id} for each in some]
            try:
                answer = self.client.delete_objects(Bucket=bucket, Delete={"Objects": objects, "Quiet": True})
            except Exception as error:  # noqa: BLE001 - whatever S3 answers, it is said
                refused |= {each.key: code_of(error) for each in some}
                continue
            errors = answer.get("Errors", ())
            refused |= {each["Key"]: each.get("Code", "refused") for each in errors}
            self.done.deleted += len(some) - len(errors)
            reach("erase-versions", "")
        return refused

    def _leave(self, bucket: str, prefix: Prefix, what: str, why: str) -> None:
        line = (
            f"old versions in s3://{bucket}/{prefix.start} {what} ({why}) and may have rows of theirs; "
            f"{_last_until(self.client, bucket)}: allow s3:ListBucketVersions, s3:GetObjectVersion and "
            "s3:DeleteObjectVersion, and call this again"
        )
        if line not in self.done.left:
            self.done.left.append(line)


def _versions(page: Mapping[str, Any]) -> Iterator[Version]:
    for each in page.get("Versions", ()):
        yield Version(each["Key"], each["VersionId"], each["ETag"], each["Size"], each["IsLatest"])
    for each in page.get("DeleteMarkers", ()):
        yield Version(each["Key"], each["VersionId"], is_latest=each["IsLatest"])


def _last_until(client: Any, bucket: str) -> str:
    """Until when a version that is not current lasts at most, in words, by the rules for the whole bucket."""
    try:
        rules = client.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"]
    except Exception as error:  # noqa: BLE001 - unknown, and said to be
        return "no lifecycle ends them" if code_of(error) in _NONE_THERE else "no lifecycle of it can be read"
    days = [
        rule["NoncurrentVersionExpiration"]["NoncurrentDays"]
        for rule in rules
        if rule["Status"] == "Enabled"
        and "NoncurrentDays" in rule.get("NoncurrentVersionExpiration", {})
        and "NewerNoncurrentVersions" not in rule["NoncurrentVersionExpiration"]
        and not any(rule.get("Filter", {}).values())
        and not rule.get("Prefix")
    ]
    if not days:
        return "no lifecycle ends them"
    # S3 rounds up to the next midnight.
    return f"they last until {datetime.now(UTC) + timedelta(days=min(days) + 1):%Y-%m-%d} at the latest"
