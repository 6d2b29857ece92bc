"""A project whose cases begin from the same runs: these are done once, and put back before each case."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from harness import Harness
from prefixes import copy_catalog

CATALOG = ".lakesmith/catalog.db"


def rewinding(shop: Harness) -> Callable[[], Harness]:
    """Keeps the project's files as they are now, and returns what puts them back."""
    root, kept = shop.root, Path(tempfile.mkdtemp(prefix="kept", dir=shop.root.parent))
    shutil.copytree(root, kept, ignore=_without_catalog, dirs_exist_ok=True)
    copy_catalog(root / CATALOG, kept / CATALOG)

    def back() -> Harness:
        for path in [*root.iterdir(), *(root / ".lakesmith").iterdir()]:
            if path.name.startswith("catalog.db") or path.name == ".lakesmith":
                continue
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(kept, root, ignore=_without_catalog, dirs_exist_ok=True)
        copy_catalog(kept / CATALOG, root / CATALOG)
        return shop

    return back


def _without_catalog(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name.startswith("catalog.db") and folder.endswith(".lakesmith")]
