"""Events over HTTPS."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from intake_process import SALES, Server, Serving

from lakesmith.cli.guard import guarded
from lakesmith.cli.main import app
from lakesmith.errors import UsageError
from lakesmith.serve.options import certificate_and_key

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")


def made(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate that signs itself, and its key."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-out", str(certificate), "-keyout", str(key)]
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    subprocess.run(["openssl", "req", "-x509", *kind, *names, *files], check=True, capture_output=True)
    return certificate, key


def test_a_certificate_and_its_key(tmp_path: Path) -> None:
    (one, key), (_, other) = made(tmp_path, "one"), made(tmp_path, "other")
    assert certificate_and_key(None, None) is None
    assert certificate_and_key(one, key) == (one, key)
    for wrong in ((one, None), (None, key), (one, other), (one, tmp_path / "none"), (key, one)):
        with pytest.raises(UsageError) as caught:
            certificate_and_key(*wrong)
        assert caught.value.problems[0].code == "LS274"


def test_events_over_https(
    serving: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    certificate, key = made(tmp_path, "one")
    plain = serving(sales=SALES)
    plain.stop()
    server = Server(plain.root, options=("--tls-cert", str(certificate), "--tls-key", str(key)))
    server.start()
    words = ["send", "--project", str(server.root), "--url", server.url.replace("http:", "https:")]
    words += ["--rate", "100000", "--count", "100", "--json"]

    def send(patience: float) -> tuple[int, object]:
        capsys.readouterr()
        arguments = [*words, "--patience", str(patience)]
        code = guarded(lambda: app(arguments, prog_name="lakesmith", standalone_mode=False), arguments)
        return code, json.loads(capsys.readouterr().out)["acknowledged"]

    try:
        assert send(0.2) == (1, 0), "nobody knows the certificate"
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert send(30) == (0, 100)
        server.stop()
        assert len(server.stored()) == 100
    finally:
        server.kill()
