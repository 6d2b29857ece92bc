"""What a target says about its deployment to AWS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from lakesmith.errors import Place
from lakesmith.project.declaring import (
    ACCOUNT_PATTERN,
    BUCKET_PATTERN,
    FOLDER_PATTERN,
    MAIL_PATTERN,
    REGION_PATTERN,
    REPOSITORY_PATTERN,
    duration,
    limited,
    setting,
    size,
)
from lakesmith.project.schedules import SCHEDULE_FORMS, Schedule, schedule_of

_DAY: Final = 86400.0
_BUCKETS: Final = list[limited(str, pattern=BUCKET_PATTERN)]  # type: ignore[misc]


@dataclass(frozen=True, slots=True)
class GitHub:
    """The repository on GitHub whose workflow plans and applies a deployment."""

    repository: str = setting(pattern=REPOSITORY_PATTERN)
    """`owner/name`. If it was made after July 2026, as its tokens name it, `owner@123/name@456`:
    `gh api repos/OWNER/NAME/actions/oidc/customization/sub` says so."""
    folder: str | None = setting(None, pattern=FOLDER_PATTERN)
    """The project's folder in the repository. Default: the project is the repository."""
    branch: str = setting("main", pattern=FOLDER_PATTERN)
    """The branch whose commits are applied. Default: `main`."""
    workflow: bool = setting(usual=True)
    """Whether the workflow is written. Without it only the two roles are, for a workflow of your own.
    Default: true."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """What `lakesmith deploy` writes for a target on AWS: see [deploy](../deploy.md).

    ``timeout`` and ``keep_versions`` are in seconds, ``scan_limit`` is in bytes.
    """

    account: str = setting(pattern=ACCOUNT_PATTERN)
    """The number of the AWS account, in quotes: `"123456789012"`. Terraform refuses any other account."""
    region: str = setting(pattern=REGION_PATTERN)
    """The region, such as `eu-central-1`."""
    mode: Literal["production", "development"] = setting("production")
    """`production` protects buckets, keys and databases from `terraform destroy`. `development` lets it
    delete them with all that is in them. Default: `production`."""
    compute: Literal["emr", "glue"] = setting("emr")
    """Where runs take place: an application of EMR Serverless, or Glue jobs. Default: `emr`."""
    architecture: Literal["x86_64", "arm64"] = setting("x86_64")
    """The processors of jobs and gate. `arm64` is AWS's Graviton, which costs less; Glue jobs have none.
    Packages are fetched for it, also from a laptop of the other kind. Default: `x86_64`."""
    unit: Literal["project", "layer"] = setting("project")
    """What a job refreshes: the whole `project`, or one `layer` after the other, which pays for a start
    each, and refreshes all tables of a layer. Default: `project`."""
    vcpus: int = setting(8, ge=8, le=400, multiple_of=4)
    """The most vCPUs that a run may use, with 4 GB of memory each: a multiple of 4. Default: 8."""
    timeout: float = setting(
        2 * 3600.0, form=str, read=duration(300.0, "five minutes or more, such as 2 hours")
    )
    """How long a run may take. Default: `2 hours`."""
    retries: int = setting(2, ge=0, le=10)
    """How often a run that failed is tried again. Wrong files of the project and failed rules are not.
    Default: 2."""
    poll: float = setting(900.0, form=str, read=duration(60.0, "a minute or more, such as 15 minutes"))
    """How often sources that cannot announce anything (PostgreSQL, Kafka) are asked, if their tables have no
    `schedule`. Default: `15 minutes`."""
    maintain: Schedule | None = setting(Schedule("0 3 * * *"), form=SCHEDULE_FORMS, read=schedule_of)
    """When tables that need it are maintained, in the forms of a table's `schedule`. A `schedule` under
    `maintain` of a table is for `lakesmith up`. Default: `0 3 * * *`, each night at three (UTC)."""
    mail: str | None = setting(None, pattern=MAIL_PATTERN)
    """Who gets alarms, and messages about failed tables, by mail. Default: nobody; the topic is there."""
    budget: int = setting(50, ge=1)
    """The monthly budget in dollars. A message is sent at 80 % of it, and if a forecast is above it.
    Default: 50."""
    encryption: Literal["s3", "kms"] = setting("s3")
    """How buckets are encrypted: with keys of S3, or with a key of your own (`kms`, a dollar a month).
    Default: `s3`."""
    keep_versions: float = setting(30 * _DAY, form=str, read=duration(_DAY, "a day or more, such as 30 days"))
    """How long deleted and replaced objects can be restored, unless `lakesmith erase` deletes them. Default:
    `30 days`."""
    existing_buckets: tuple[str, ...] = setting((), form=_BUCKETS)
    """Buckets that exist already and belong to others, such as one with landing files: they are read, and
    never changed. Their owner has to send events to EventBridge. Default: none."""
    athena: bool = setting(usual=False)
    """Whether Athena reads the tables: a workgroup, and a query for each table. It needs `format_version: 2`
    in all tables. Default: false."""
    scan_limit: int = setting(10 * 1000**3, form=str, read=size(10 * 1000**2, expected="10 MB or more"))
    """The most that one query of Athena may read. Default: `10 GB`."""
    lake_formation: bool = setting(usual=False)
    """Whether Lake Formation decides what readers see: tables of layers in which no table has the tag `pii`,
    or all tables for the role `pii-reader`. Readers have no rights in S3 of their own then. Default: false,
    since readers that work outside engines that ask Lake Formation lose access."""
    replica_region: str | None = setting(None, pattern=REGION_PATTERN)
    """A second region, to which the buckets of the lake and of landing files are copied. It doubles what
    they cost. Default: none."""
    github: GitHub | None = setting(None)
    """A repository on GitHub: pull requests show the plan, and merges apply it. Default: none."""
    place: Place | None = None

    @property
    def protects(self) -> bool:
        """Whether buckets, keys and databases are protected from deletion."""
        return self.mode == "production"
