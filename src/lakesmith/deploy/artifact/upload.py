"""The upload of an artifact to its bucket, or to a folder for another way there."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

from lakesmith.deploy.artifact.artifact import Archive, Part
from lakesmith.errors import EnvironmentProblem


def upload(part: Part, bucket: str, client: Any) -> tuple[str, ...]:
    """Puts the archives of a part that are not there; returns their keys.

    What is there under its hash is the same. Raises EnvironmentProblem LS344 if the bucket is not there, or
    does not accept them.
    """
    return _put(
        part,
        lambda key: _is_there(client, bucket, key),
        lambda key, archive: _send(client, bucket, key, archive),
    )


def write_to(part: Part, folder: Path) -> tuple[str, ...]:
    """Writes the archives of a part into a folder, as they would be in the bucket; returns their keys."""
    return _put(part, lambda key: (folder / key).exists(), lambda key, archive: _write(folder / key, archive))


def _put(part: Part, is_there: Callable[[str], bool], put: Callable[[str, Archive], None]) -> tuple[str, ...]:
    prefix = part.prefix
    missing = {f"{prefix}/{each.name}": each for each in part.archives}
    missing = {key: each for key, each in missing.items() if not is_there(key)}
    for key, archive in missing.items():
        put(key, archive)
    return tuple(missing)


def _write(file: Path, archive: Archive) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f".{file.name}.tmp")
    with beside.open("wb") as packed:
        archive.write(archive.entries, packed)
    beside.replace(file)


def _is_there(client: Any, bucket: str, key: str) -> bool:
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        client.head_object(Bucket=bucket, Key=key)
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] == 404:
            return False
        raise _refused(bucket, error) from None
    except BotoCoreError as error:
        raise _refused(bucket, error) from None
    return True


def _send(client: Any, bucket: str, key: str, archive: Archive) -> None:
    from boto3.exceptions import S3UploadFailedError
    from botocore.exceptions import BotoCoreError, ClientError

    with tempfile.TemporaryFile() as file:
        archive.write(archive.entries, cast("BinaryIO", file))
        file.seek(0)
        try:
            client.upload_fileobj(file, bucket, key)
        except (BotoCoreError, ClientError, S3UploadFailedError) as error:
            raise _refused(bucket, error) from None


def _refused(bucket: str, error: Exception) -> EnvironmentProblem:
    what = f"the artifact was not uploaded to s3://{bucket}"
    hint = "apply bootstrap/, which makes the bucket, and log in to the account: aws sso login"
    return EnvironmentProblem.of("LS344", what, None, "a bucket that accepts it", str(error), hint)
