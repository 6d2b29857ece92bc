"""Settings of the documentation site: ``make docs`` builds it into build/docs, and fails on any warning.

The site's source is the whole repository, so that the README, the examples' walks and the changelog are pages
too, and every link that works in the repository works in the site.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

project = "lakesmith"
author = "the lakesmith authors"
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/*.md", "docs/*/*.md", "examples/*/README.md", "benchmarks/README.md"]
exclude_patterns = ["build", "src", "tests", "scripts", ".*", "**/.*"]

html_theme = "furo"
html_title = "lakesmith"
html_static_path: list[str] = []
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]
suppress_warnings = ["myst.header"]  # the walks' transcripts begin sections of any depth
highlight_language = "none"
nitpicky = True


def setup(app: Any) -> None:
    """Copies the pictures: Sphinx does not see those in ``<picture>``, which have a dark one beside them."""

    def copy(app: Any, _error: Exception | None) -> None:
        pictures = "docs/pictures"
        shutil.copytree(Path(app.srcdir, pictures), Path(app.outdir, pictures), dirs_exist_ok=True)

    app.connect("build-finished", copy)
