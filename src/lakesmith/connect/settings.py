"""What a target's catalog settings say, whichever engine is told: where on AWS, which storage, which login."""

from __future__ import annotations

from dataclasses import dataclass

from lakesmith.connect.model import Lake
from lakesmith.connect.values import has_reference

REGION, ACCOUNT, BUCKET = "<region>", "<account id>", "<table bucket>"
"""What stands for what a target does not say: the reader puts it in."""

KEY_ID = ("s3.access-key-id", "client.access-key-id", "glue.access-key-id")
KEY = ("s3.secret-access-key", "client.secret-access-key", "glue.secret-access-key")
SESSION_TOKEN = ("s3.session-token", "client.session-token", "glue.session-token")


@dataclass(frozen=True, slots=True)
class Storage:
    """How the files are reached on S3. None: the engine's usual way."""

    region: str | None
    endpoint: str | None
    key_id: str | None
    key: str | None
    session_token: str | None
    path_style: bool

    @property
    def is_told(self) -> bool:
        """Whether the target says anything of it."""
        return any((self.region, self.endpoint, self.key_id))


def storage(lake: Lake) -> Storage:
    """What the target says of its storage."""
    style = lake.setting("s3.path-style-access")
    virtual = lake.setting("s3.force-virtual-addressing")
    return Storage(
        region=known_region(lake),
        endpoint=lake.setting("s3.endpoint"),
        key_id=lake.setting(*KEY_ID),
        key=lake.setting(*KEY),
        session_token=lake.setting(*SESSION_TOKEN),
        path_style=style == "true" or virtual == "false",
    )


def known_region(lake: Lake) -> str | None:
    """The region of AWS, as far as the target says it."""
    told = lake.setting("client.region", "glue.region", "s3.region", "rest.signing-region")
    return told or (_arn(lake)[3] if _arn(lake) else None)


def region(lake: Lake) -> str:
    """The region of AWS, or what stands for it."""
    return known_region(lake) or REGION


def account(lake: Lake) -> str:
    """The account of AWS that the catalog is in, or what stands for it."""
    return lake.setting("glue.id") or (_arn(lake)[4] if _arn(lake) else ACCOUNT)


def table_bucket(lake: Lake) -> str:
    """The name of the table bucket, or what stands for it."""
    return _arn(lake)[5].removeprefix("bucket/") if _arn(lake) else BUCKET


def warehouse(lake: Lake) -> str:
    """The ``warehouse`` of the target: a folder of tables, or a name that a REST catalog knows."""
    return lake.setting("warehouse") or ""


def is_on_s3(lake: Lake) -> bool:
    """Whether the tables' files are on S3, or in something that speaks as it does."""
    on_aws = lake.target.type in ("glue", "s3tables")
    return on_aws or warehouse(lake).startswith(("s3://", "s3a://")) or bool(lake.setting("s3.endpoint"))


def signs(lake: Lake) -> bool:
    """Whether requests to the REST catalog are signed as AWS wants it."""
    return lake.setting("rest.sigv4-enabled") == "true"


def s3tables_uri(lake: Lake) -> str:
    """The REST catalog of S3 Tables."""
    return lake.setting("uri") or f"https://s3tables.{region(lake)}.amazonaws.com/iceberg"


def login(lake: Lake) -> tuple[str, str] | None:
    """Id and secret of a REST catalog's ``credential``; None where there is none, or one variable holds both."""
    told = lake.setting("credential") or ""
    client, colon, secret = told.partition(":")
    return (client, secret) if colon else None


def _arn(lake: Lake) -> list[str]:
    """The parts of the table bucket's ARN; none where it is in the environment, or there is no table bucket."""
    told = warehouse(lake)
    parts = told.split(":")
    return parts if len(parts) == 6 and parts[2] == "s3tables" and not has_reference(told) else []
