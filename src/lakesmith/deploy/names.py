"""Names of resources within AWS's limits, and prefixes in buckets."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterable
from typing import Final

BUCKET_LENGTH: Final = 63
ROLE_LENGTH: Final = 64
"""The longest names of a bucket, and of a role, a function, a schedule or an application."""

MOST_PREFIXES: Final = 20
"""So many prefixes of a bucket are listed one by one in a policy or a rule; more are covered by what they
share."""

_HASH_LENGTH: Final = 8
_VALUE_LENGTH: Final = 255


def dashed(name: str) -> str:
    """Returns the name of a project, target or table as part of a name on AWS.

    >>> dashed("customer__orders_")
    'customer-orders'
    """
    return "-".join(part for part in name.replace(".", "_").lower().split("_") if part)


def base_of(project: str, target: str) -> str:
    """Returns what the names of a target's resources begin with, another text for each project and target.

    >>> base_of("customer_orders", "prod"), base_of("a_b", "c"), base_of("a", "b_c")
    ('customer-orders-prod', 'a-b-c', 'a-b-c-ab14')
    """
    base = f"{dashed(project)}-{dashed(target)}"
    # Read backwards, a base has the target behind its last dash: other names say by a hash what they are.
    if base == f"{project.replace('_', '-')}-{target}":
        return base
    return f"{base}-{hashlib.sha256(f'{project}/{target}'.encode()).hexdigest()[:4]}"


def shortened(name: str, most: int) -> str:
    """Returns the name with at most ``most`` characters. A longer one ends in a hash of all of it.

    >>> shortened("customer-orders", 64), len(shortened("x" * 80, 63))
    ('customer-orders', 63)
    """
    if len(name) <= most:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_HASH_LENGTH]
    return f"{name[: most - _HASH_LENGTH - 1].rstrip('-.')}-{digest}"


def lake_formation_value(text: str) -> str:
    """Returns a text as a value of a tag in Lake Formation, which has lower-case letters and few signs.

    >>> lake_formation_value("Data & BI <bi@shop.com>")
    'data - bi -bi@shop.com-'
    """
    return re.sub(r"[^\w .:*/=+@%-]", "-", text.lower())[:_VALUE_LENGTH]


def bucket_and_prefix(uri: str) -> tuple[str, str]:
    """Returns the bucket and the prefix of ``s3://bucket/prefix``; the prefix is empty or ends in a slash.

    >>> bucket_and_prefix("s3://shop/landing/orders"), bucket_and_prefix("s3a://shop")
    (('shop', 'landing/orders/'), ('shop', ''))
    """
    bucket, _, prefix = uri.partition("://")[2].partition("/")
    prefix = prefix.strip("/")
    return bucket, f"{prefix}/" if prefix else ""


def covering(prefixes: Iterable[str], most: int = MOST_PREFIXES) -> tuple[str, ...]:
    """Returns prefixes that cover all of ``prefixes``: none is below another; at most ``most``.

    >>> covering(["a/x/", "a/", "b/"]), covering(["a/x/1/", "a/x/2/"], most=1)
    (('a/', 'b/'), ('a/x/',))
    """
    found: list[str] = []
    for prefix in sorted(set(prefixes)):
        if not found or not prefix.startswith(found[-1]):
            found.append(prefix)
    if len(found) <= most:
        return tuple(found)
    shared = posixpath.commonprefix(found)
    return (shared[: shared.rfind("/") + 1],)
