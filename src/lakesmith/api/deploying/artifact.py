"""The artifact of a deployment: made, and uploaded or written to a folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lakesmith.api.access import Access
from lakesmith.api.deploying.work import stack_here
from lakesmith.deploy.artifact.artifact import VARIABLES, packages_of, project_of, variables_text
from lakesmith.deploy.artifact.upload import upload, write_to
from lakesmith.deploy.folder import folder_of
from lakesmith.project.definitions import ObjectStore
from lakesmith.whole_file import write_whole


@dataclass(frozen=True, slots=True)
class Uploaded:
    """What was uploaded, or written to a folder.

    Attributes:
        place: the bucket, or the folder.
        packages: the prefix of the packages.
        project: the prefix of the project's files.
        new: the keys of what was not there.
        sizes: the bytes of each archive's files, unpacked.
        variables: the file, relative to the project's folder, from which Terraform reads the two prefixes.
    """

    place: str
    packages: str
    project: str
    new: tuple[str, ...]
    sizes: dict[str, int]
    variables: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def upload_artifact(access: Access, folder: Path | None) -> Uploaded:
    stack = stack_here(access)
    parts = packages_of(stack), project_of(stack)
    if folder is not None:
        place, new = str(folder), [key for part in parts for key in write_to(part, folder)]
    else:
        from lakesmith.sources.objects import client_of

        bucket = stack.bucket_named("artifacts")
        client = client_of(ObjectStore(region=stack.deploy.region))
        place, new = f"s3://{bucket}", [key for part in parts for key in upload(part, bucket, client)]
    packages, project = (part.prefix for part in parts)
    # Last: what Terraform reads names nothing that is not there.
    write_whole(folder_of(stack) / VARIABLES, variables_text(packages, project))
    sizes = {archive.name: archive.size for part in parts for archive in part.archives}
    variables = (folder_of(stack) / VARIABLES).relative_to(stack.project.root).as_posix()
    return Uploaded(place, packages, project, tuple(new), sizes, variables)
