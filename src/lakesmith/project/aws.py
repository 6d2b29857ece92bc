"""What the environment says of AWS where a target says nothing: Java's client and Python's ask for other variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from lakesmith.project.definitions import ObjectStore

REGION = ("AWS_REGION", "AWS_DEFAULT_REGION")
ENDPOINT = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")


def as_here(store: ObjectStore, environ: Mapping[str, str] = os.environ) -> ObjectStore:
    """The store, with region and endpoint from the environment where it has none."""
    return replace(
        store,
        region=store.region or _first(REGION, environ),
        endpoint=store.endpoint or _first(ENDPOINT, environ),
    )


def _first(names: tuple[str, ...], environ: Mapping[str, str]) -> str | None:
    return next((environ[name] for name in names if environ.get(name)), None)
