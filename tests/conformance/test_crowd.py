"""Writers, a compactor and an eraser on one lake while files land: nothing is lost, doubled or left over.

A release has a minute of it, a soak as many minutes as it draws histories, on each catalog.
"""

import random
from pathlib import Path

import places
import pytest
from crowd import Crowd
from crowd_accounts import Accounts
from soaking import SOAK

import postgres_server
import rest_server
import s3_server

pytestmark = pytest.mark.release


def require_right(crowd: Crowd, copy: Path) -> None:
    print(
        f"seed {crowd.seed}: {len(crowd.landed.orders)} orders, {len(crowd.landed.erased)} erased",
        dict(sorted(crowd.ended.items())),
    )
    accounts = Accounts(crowd)
    accounts.require_all()
    accounts.require_nothing_of_the_erased(copy)


def test_a_crowd_on_one_machine(tmp_path: Path) -> None:
    crowd = Crowd(tmp_path / "work", places.embedded(), seed=11)
    crowd.work_together(seconds=1, writers=2)
    require_right(crowd, tmp_path / "copy")


@pytest.mark.skipif(not SOAK, reason="minutes: as many as a soak draws histories")
@pytest.mark.timeout(0)
@pytest.mark.parametrize("kind", [places.EMBEDDED, places.REST, places.JDBC])
def test_a_crowd_for_minutes(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = Crowd(tmp_path / "work", _place(kind, request, monkeypatch), random.randrange(10**6))
    crowd.work_together(seconds=60 * SOAK, writers=4)
    require_right(crowd, tmp_path / "copy")
    crowd.must("writer 0", "verify")


def _place(kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> places.Place:
    if kind == places.EMBEDDED:
        return places.embedded()
    s3: s3_server.Server = request.getfixturevalue("s3")
    for name, value in s3.environ.items():
        monkeypatch.setenv(name, value)
    if kind == places.REST:
        rest: rest_server.Server = request.getfixturevalue("rest")
        return places.on_rest(rest, s3)
    postgres: postgres_server.Server = request.getfixturevalue("jdbc")
    return places.in_postgres(postgres, s3)
