"""A trust store is what Java's own keytool says it is."""

import ssl
import subprocess
from pathlib import Path

import pytest

from lakesmith.spark.start.find_java import find_java
from lakesmith.spark.start.jars import trust_store, write_trust_store


def authorities() -> list[bytes]:
    found = ssl.create_default_context().get_ca_certs(binary_form=True)[:3]
    if not found:
        pytest.skip("this machine has no list of certificates")
    return found


def keytool(store: Path) -> str:
    tool = find_java().home / "bin" / "keytool"
    command = [str(tool), "-list", "-keystore", str(store), "-storepass", "changeit"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_keytool_reads_every_certificate_and_finds_the_file_whole(tmp_path: Path) -> None:
    store = tmp_path / "trust.jks"
    certificates = authorities()
    store.write_bytes(trust_store(certificates))
    assert keytool(store).count("trustedCertEntry") == len(certificates)


def test_a_bundle_with_notes_and_a_certificate_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, *_ = authorities()
    pem = ssl.DER_cert_to_PEM_cert(one)
    bundle = tmp_path / "bundle.pem"
    bundle.write_text(f"# the company's\n{pem}\n# again\n{pem}")
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    store = write_trust_store(tmp_path)
    assert store is not None
    assert keytool(store).count("trustedCertEntry") == 1
