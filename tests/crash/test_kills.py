"""Whole runs whose Python, JVM or both are killed, at every boundary of a batch and during a commit.

One project goes through all of it: before each run something lands, each run dies somewhere else, and after
each death everything that is published must be right as far as it goes. The last runs are left alone, and
everything must be there. The suite has one death of them.
"""

import pytest
from audit import Audit
from killed_shop import FILES, VERSIONS, Shop
from processes import must, run_killed
from soaking import chosen

KILLS = (
    "after-lock:kill", "after-create@bronze.orders:kill", "after-branch@bronze.orders:killjvm",
    "after-quarantine@bronze.orders:killboth", "before-swap@bronze.orders:killjvm/2",
    "after-publish@bronze.orders:kill", "after-data@silver.orders:killjvm",
    "after-tombstones@silver.orders:kill", "before-publish@silver.order_log:killboth",
    "after-data@gold.by_customer:kill", "after-intent@bronze.orders:kill",
    "after-merge@silver.orders:killjvm", "after-data@silver.order_versions:kill",
    "before-publish@silver.order_versions:killboth", "before-swap@silver.orders:killboth/4",
    "after-delete@bronze.orders:kill", "after-sidecars@silver.orders:killjvm",
    "after-publish@gold.by_customer:killboth",
)  # fmt: skip
FIRST = KILLS[:2]
"""Where the first run of a lake dies; the others die in later ones."""
ALWAYS = "before-swap@silver.orders:killboth/4"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return Shop(tmp_path_factory.mktemp("kills") / "shop", seed=3, files=FILES | VERSIONS)


@pytest.mark.parametrize("fault", chosen(KILLS, ALWAYS))
def test_what_is_published_is_right_whenever_a_run_is_killed(shop: Shop, fault: str) -> None:
    shop.land()
    if fault not in FIRST and not shop.is_grown:
        must(shop.root)
        shop.is_grown = True
        shop.land()
    if "after-delete" in fault:
        shop.replace()
    ended = run_killed(shop.root, fault)
    if "killjvm" in fault:
        assert "LS604" in ended.output
    Audit(shop).check()


def test_a_run_that_is_left_alone_makes_everything_right(shop: Shop) -> None:
    """Rows and their multiplicities are those of the landing files; nothing of a dead attempt is left."""
    shop.land()
    must(shop.root)
    Audit(shop).check_complete()
    assert {"append", "upsert", "sums"} <= set(Audit(shop).kinds())
    assert "Spark" not in must(shop.root), "there was nothing left to do"
