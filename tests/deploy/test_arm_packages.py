"""pip finds all packages for Graviton, from a machine of any kind, and fetches them (`make deploy-tests`)."""

import struct
from pathlib import Path

import pytest

from lakesmith.deploy.artifact.archives import Entry, of_wheel
from lakesmith.deploy.artifact.artifact import EMR_PYTHON, GATE_PYTHON, MACHINES
from lakesmith.deploy.artifact.packages import Runtime, requirements, wheels_for

pytestmark = [pytest.mark.timeout(900), pytest.mark.deploys]

EXTRAS = frozenset({"aws", "postgres", "kafka", "alerts", "logs"})
"""Whatever a project can use on AWS."""
_AARCH64 = 183
"""In the header of ELF files: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html"""


def machine_of(entry: Entry) -> int | None:
    """What a library or a program runs on; None for other files."""
    head = entry.read()[:20]
    return int(struct.unpack_from("<H", head, 18)[0]) if head.startswith(b"\x7fELF") else None


@pytest.mark.parametrize("python", [EMR_PYTHON, GATE_PYTHON])
def test_every_library_is_for_graviton_and_the_python(
    python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKESMITH_CACHE", str(tmp_path))
    wheels = wheels_for(Runtime(python, MACHINES["arm64"]), requirements(EXTRAS))
    found = {each.name: machine_of(each) for wheel in wheels for each in of_wheel(wheel)}
    libraries = {name: machine for name, machine in found.items() if machine is not None}
    assert len(libraries) > 50
    assert {name: machine for name, machine in libraries.items() if machine != _AARCH64} == {}
    compiled = {wheel.name for wheel in wheels if "none-any" not in wheel.name}
    assert compiled
    assert all(name.endswith("aarch64.whl") for name in compiled), compiled
    other = f"cpython-{GATE_PYTHON if python == EMR_PYTHON else EMR_PYTHON}".replace("3.", "3")
    assert not [name for name in libraries if other in name]
