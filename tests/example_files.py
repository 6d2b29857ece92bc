"""Loads the files of the examples, whose folders are no packages."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def load_generator(example: str) -> ModuleType:
    """The module ``examples/<example>/generate.py``."""
    name = f"{example.replace('-', '_')}_generate"
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / example / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # dataclasses look their module up by name while the class is being made.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def contents(folder: Path) -> dict[str, tuple[bytes, float]]:
    """Each file of the folder with what is in it and its modification time in seconds."""
    return {path.name: (path.read_bytes(), path.stat().st_mtime) for path in folder.iterdir()}
