"""The cache of analyses: used when it can be, never believed when it cannot."""

import subprocess
import sys
from pathlib import Path

import pytest

from lakesmith.cache import Cache
from lakesmith.sql import analysis
from lakesmith.sql.analysis import AnalysisCache, SqlParseError, analyse

QUERY = "SELECT a, bronze.orders.b FROM bronze.orders WHERE c > 1"


def saved(folder: Path) -> Path:
    cache = AnalysisCache(folder)
    cache.analyse(QUERY)
    assert cache.save()
    (file,) = folder.iterdir()
    return file


def kept(folder: Path) -> Cache:
    return analysis._cache(folder)


def test_a_kept_analysis_is_the_same_and_needs_no_sqlglot(tmp_path: Path) -> None:
    saved(tmp_path)
    code = (
        "import sys; from pathlib import Path; from lakesmith.sql.analysis import AnalysisCache;"
        f"c = AnalysisCache(Path({str(tmp_path)!r})); a = c.analyse({QUERY!r}); c.save(); print(repr(a));"
        "sys.exit('sqlglot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.strip() == repr(analyse(QUERY))


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]", b"null", b'{"x": 1}'])
def test_a_corrupt_file_is_no_cache(tmp_path: Path, content: bytes) -> None:
    saved(tmp_path).write_bytes(content)
    assert AnalysisCache(tmp_path).analyse(QUERY) == analyse(QUERY)


@pytest.mark.parametrize("damage", [None, {}, [], {"references": 1}])
def test_a_damaged_entry_is_analysed_anew_and_mended(tmp_path: Path, damage: object) -> None:
    saved(tmp_path)
    kept(tmp_path).save("analyses", {QUERY: damage})
    assert AnalysisCache(tmp_path).analyse(QUERY) == analyse(QUERY)
    saved(tmp_path)
    assert kept(tmp_path).load("analyses")[QUERY]["references"]


def test_another_version_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(tmp_path)
    assert kept(tmp_path).load("analyses")
    monkeypatch.setattr(analysis, "ANALYSIS_VERSION", 0)
    assert kept(tmp_path).load("analyses") is None


def test_nothing_is_written_when_nothing_is_new(tmp_path: Path) -> None:
    file = saved(tmp_path)
    file.chmod(0o600)
    before = file.stat().st_mtime_ns
    cache = AnalysisCache(tmp_path)
    cache.analyse(QUERY)
    assert cache.save()
    assert file.stat().st_mtime_ns == before
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_a_folder_that_cannot_be_written_is_said_not_raised(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file where the folder should be")
    cache = AnalysisCache(tmp_path / "taken")
    assert cache.analyse(QUERY) == analyse(QUERY)
    assert not cache.save()


def test_errors_are_raised_every_time(tmp_path: Path) -> None:
    cache = AnalysisCache(tmp_path)
    for _ in range(2):
        with pytest.raises(SqlParseError):
            cache.analyse("SELECT FROM WHERE")
