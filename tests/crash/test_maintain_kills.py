"""Killed maintenance, between two pieces and during one: tables stay right, the next call goes on."""

import json
import signal

import pytest
from audit import Audit
from killed_shop import Shop
from processes import RunProcess, holder_of, kill, must, run, run_killed, wait_until

pytestmark = pytest.mark.release

KILLS = (
    "maintain-begin@silver.orders:killboth/300",
    "maintain-piece@bronze.orders:kill",
    "maintain-begin@bronze.orders:killjvm/1500",
    "maintain-expiry@silver.orders:killjvm",
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """The project that goes through all of it, after two batches."""
    shop = Shop(tmp_path_factory.mktemp("maintained") / "shop", seed=23)
    for _ in range(2):
        shop.land()
        must(shop.root)
    return shop


def audit(shop: Shop) -> Audit:
    """A look at a lake whose old snapshots may have left."""
    return Audit(shop, expired=True)


@pytest.mark.parametrize("fault", KILLS)
def test_tables_are_right_wherever_maintenance_is_killed(shop: Shop, fault: str) -> None:
    shop.land()
    must(shop.root)
    run_killed(shop.root, fault, ("maintain",))
    audit(shop).check_complete()


def test_maintenance_that_is_told_to_end_says_so_and_the_next_call_goes_on(shop: Shop) -> None:
    shop.land()
    must(shop.root)
    with RunProcess.start(shop.root, None, ("maintain",)) as process:
        wait_until(lambda: holder_of(shop.root) is not None, "it has begun a piece")
        kill(process.pid, signal.SIGTERM)
        ended = process.end()
    assert ended.code == 130, ended.output
    assert "stopped: what was done stays, and the next call goes on" in ended.output
    audit(shop).check_complete()
    must(shop.root, "maintain", "--json")
    shop.land()
    must(shop.root)
    audit(shop).check_complete()
    needs = json.loads(run(shop.root, command=("maintain", "bronze.orders", "--dry-run", "--json")).output)
    assert needs["tables"][0]["health"]["data_files"] <= 2
