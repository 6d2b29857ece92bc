"""Terraform on this machine, with the providers that are on it: no test asks a registry."""

import os
import shutil
from pathlib import Path

import pytest


def mirror() -> Path | None:
    """The folder with the provider for AWS: ``TERRAFORM_MIRROR``, or where such folders usually are."""
    given = os.environ.get("TERRAFORM_MIRROR")
    found = [Path(given)] if given else []
    for place in (Path("/opt"), Path("/usr/share"), Path("/usr/local/share"), Path.home() / ".terraform.d"):
        found += [each.parent for each in place.glob("*/registry.terraform.io")]
    return next((each for each in found if (each / "registry.terraform.io/hashicorp/aws").is_dir()), None)


def config_of(folder: Path) -> dict[str, str]:
    """Variables with which Terraform takes providers from the mirror alone. Writes to ``folder``."""
    config = folder / "terraform.rc"
    config.write_text(f'provider_installation {{\n  filesystem_mirror {{ path = "{mirror()}" }}\n}}\n')
    return {"TF_CLI_CONFIG_FILE": str(config), "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"}


needs_terraform = pytest.mark.skipif(
    shutil.which("terraform") is None, reason="terraform is not on this machine"
)
needs_provider = pytest.mark.skipif(
    shutil.which("terraform") is None or mirror() is None,
    reason="terraform or its provider for AWS is not here: set TERRAFORM_MIRROR",
)
