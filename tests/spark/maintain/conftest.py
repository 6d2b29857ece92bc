"""What the tests of maintenance share: a project after each of its first batches, which are done once."""

import pytest
from harness import Harness, refresh_by_keys
from maintained_shop import FILES, After, grown
from maintaining import soon
from rewinding import rewinding

from lakesmith.spark.start.session import SessionHandle


@pytest.fixture(scope="session")
def after(tmp_path_factory: pytest.TempPathFactory, session: SessionHandle) -> After:
    """Gives the project as so many batches have left it."""
    shop = Harness(tmp_path_factory.mktemp("maintained") / "shop", session, FILES)
    kept = [rewinding(shop)]

    def at(batches: int) -> Harness:
        with pytest.MonkeyPatch.context() as patch, soon():
            refresh_by_keys(patch)
            for batch in range(len(kept) - 1, batches):
                kept.append(rewinding(grown(kept[batch](), batch)))
        return kept[batches]()

    return at
