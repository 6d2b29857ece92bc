"""No part of a password is shown, whatever a library makes of the address that it stands in."""

import json
import traceback
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lakesmith.catalog.open import open_catalog
from lakesmith.connect.values import without_secrets
from lakesmith.errors import LakesmithError, Place
from lakesmith.project.definitions import FileSource, KafkaSource, ObjectStore, Project, TableName, Target
from lakesmith.project.files import FolderFiles
from lakesmith.project.formats import FileFormat
from lakesmith.project.loader import parse_project
from lakesmith.redaction import WITHHELD, library_message, redacted, secrets_in
from lakesmith.serve.routes import EventSource, url_of
from lakesmith.sources.kafka import broker
from lakesmith.sources.listing import list_files
from lakesmith.sources.postgres.fetch import Fetch, fetch
from landings import products_source

PASSWORDS = [
    "half1@HALF2secret",
    "half1/HALF2secret",
    "half1?HALF2secret",
    "half1#HALF2secret",
    "half1:HALF2secret",
    "half1%HALF2secret",
    "half1 HALF2secret",
    "half1[HALF2secret",
    "half1\\HALF2secret",
    "half1@@HALF2secret:",
    "half1/@HALF2secret?x=",
    "half1%40HALF2secret",
    "half1" + "x" * 70 + "@HALF2secret",
]
PLACE = Place("t.yaml", 1)


def hostile(addresses: list[str]) -> list[str]:
    """Each address with each password, but for those in which what follows an @ is a host to everybody."""
    return [
        address.format(password)
        for address in addresses
        for password in PASSWORDS
        if not ("@" in password and address.endswith(("{}/db", "{}/api", "{}/lake", "{}/x")))
    ]


def shown(error: BaseException) -> str:
    """All that a person, a log or a program gets to see of an error."""
    problems = [problem.as_dict() for problem in error.problems] if isinstance(error, LakesmithError) else []
    return json.dumps(problems) + "".join(traceback.format_exception(error))


def refused(call: object) -> str:
    assert callable(call)
    with pytest.raises(LakesmithError) as caught:
        call()
    return shown(caught.value)


@pytest.mark.parametrize(
    "address",
    hostile(
        [
            "postgresql://admin:{}@127.0.0.1:9/db", "postgresql://admin:{}/db",
            "postgresql://127.0.0.1:9/db?user=admin&password={}", "postgresql://127.0.0.1:9/db?passwrd={}",
            "host=127.0.0.1 port=9 user=admin password={}", "host=127.0.0.1 port={} user=admin",
            "host=127.0.0.1 port=9 user=admin passwrd={}", "host='127.0.0.1 password={}", "{}",
        ]
    ),
)  # fmt: skip
def test_postgresql_is_not_repeated(address: str, tmp_path: Path) -> None:
    source = products_source(PLACE, columns=("id",))
    task = Fetch(TableName("bronze", "products"), source, tmp_path, frozenset(), dict)
    said = refused(lambda: fetch(task, {"SHOP": address}, datetime(2026, 1, 1, tzinfo=UTC)))
    assert "LS438" in said and "half1" not in said and "HALF2" not in said


@pytest.mark.parametrize(
    "text",
    hostile(
        [
            "kafka://admin:{}@127.0.0.1:1",
            "admin:{}@127.0.0.1:1",
            "{}",
            "{}=",
            "bootstrap.servers=127.0.0.1:1\n{}=x",
            "bootstrap.servers=127.0.0.1:1 sasl.password={}",
            "bootstrap.servers=127.0.0.1:1\nsecurity.protocol={}",
            "bootstrap.servers=127.0.0.1:1\nsasl.mechanism={}\nsasl.username=a\nsasl.password=b",
            "bootstrap.servers=127.0.0.1:1\nssl.certificate.location={0}\nssl.key.location={0}",
            "bootstrap.servers=127.0.0.1:1\nssl.ca.location={}\nsecurity.protocol=SSL",
            '{{"bootstrap.servers": "{}"}}',
        ]
    ),
)
def test_kafka_is_not_repeated(text: str) -> None:
    source = KafkaSource("kafka", "kafka:x", FileFormat.JSON, PLACE, connection="SHOP", topic="clicks")
    environment = {"SHOP": text}
    said = refused(lambda: broker.topic_state(source, environment))
    said += refused(lambda: broker.java_connection(source, environment)) if "location" in text else ""
    assert "half1" not in said and "HALF2" not in said


@pytest.mark.parametrize(
    ("kind", "key", "addresses"),
    [
        ("rest", "uri", "http://admin:{}@127.0.0.1:1/api"),
        ("rest", "uri", "http://admin:{}/api"),
        ("rest", "uri", "{}"),
        ("jdbc", "uri", "jdbc:postgresql://admin:{}@127.0.0.1:1/db"),
        ("jdbc", "uri", "jdbc:postgresql://127.0.0.1:1/db?user=admin&password={}"),
        ("jdbc", "uri", "jdbc:postgresql://127.0.0.1:1;password={}"),
        ("rest", "oauth2-server-uri", "http://admin:{}@127.0.0.1:1/api"),
        ("glue", "glue.endpoint", "http://admin:{}@127.0.0.1:1"),
        ("glue", "s3.endpoint", "http://admin:{}/lake"),
    ],
)
def test_catalogs_are_not_repeated(kind: str, key: str, addresses: str, tmp_path: Path) -> None:
    for address in hostile([addresses]):
        written = {"uri": "http://127.0.0.1:1", "credential": "me:half1", key: address}
        settings = "".join(f"      {name}: {json.dumps(value)}\n" for name, value in written.items())
        text = f"name: x\ntargets:\n  prod:\n    catalog:\n      type: {kind}\n{settings}"
        (tmp_path / "lakesmith.yaml").write_text(text)
        loaded = parse_project(FolderFiles(tmp_path))
        assert not loaded.problems
        said = refused(lambda loaded=loaded: open_catalog(loaded.project).table("bronze", "orders"))
        said += str(without_secrets(loaded.project.target)[0].catalog)
        assert "half1" not in said and "HALF2" not in said


@pytest.mark.parametrize("address", hostile(["http://admin:{}@127.0.0.1:1", "http://admin:{}/x", "{}"]))
def test_endpoints_of_s3_are_not_repeated(address: str, tmp_path: Path) -> None:
    store = ObjectStore(address, "eu-north-1", "key", "secret")
    source = FileSource("orders", "s3://any/x/", FileFormat.CSV, PLACE, store=store)
    said = refused(lambda: list_files(source, tmp_path, 10**19))
    assert "half1" not in said and "HALF2" not in said


@pytest.mark.parametrize("password", PASSWORDS)
def test_the_url_of_an_intake_is_not_repeated(password: str) -> None:
    each = EventSource.__new__(EventSource)
    for address in (
        f"http://admin:{password}@127.0.0.1:1",
        f"http://admin:{password}/x",
        f"htp://{password}",
    ):
        said = refused(lambda address=address: url_of(each, address))
        assert "half1" not in said and "HALF2" not in said


def test_what_is_well_formed_is_repeated_without_its_secrets() -> None:
    """A message that helps is kept; only what is ambiguous is withheld."""
    url = "postgresql://u:a%20bcd@h/d"
    assert library_message("no: a%20bcd, 'a bcd' at h", [url]) == "no: ***, '***' at h"
    assert library_message("no: pass1", ["host=h password=pass1"]) == "no: ***"
    assert library_message("no: half2", ["postgresql://u:half1@half2@h/d"]) == WITHHELD
    assert library_message("a cat", ["postgresql://u:a@h/d"]) == WITHHELD
    assert redacted("abcdef abc", ["abc", "abcdef", " "]) == "*** ***"


@pytest.mark.parametrize(
    ("address", "secrets"),
    [
        ("postgresql://h1:5432,h2:5433/db?sslmode=require", ()),
        ("postgresql:///db?host=/var/run/postgresql", ()),
        ("postgresql://me@[::1]/db", ()),
        ("https://token@catalog.example.com/api", ("token",)),
        ("jdbc:postgresql://h/db?user=me&password=pass1", ("pass1",)),
        ("jdbc:sqlite:/tmp/my lake/catalog.db", ()),
        ("host=/var/run dbname=x user=me password='p w'", ("p w",)),
    ],
)
def test_what_is_well_formed(address: str, secrets: tuple[str, ...]) -> None:
    assert secrets_in(address) == secrets


def test_secrets_written_out_in_a_project_are_its_secrets(tmp_path: Path) -> None:
    target = "catalog: {type: rest, uri: 'https://me:pass1@h/api', credential: 'id:pass2', token: pass3}"
    settings = "spark: {spark.hadoop.fs.s3a.secret.key: pass4}"
    (tmp_path / "lakesmith.yaml").write_text(f"name: x\ntargets:\n  prod:\n    {target}\n    {settings}\n")
    project: Project = parse_project(FolderFiles(tmp_path)).project
    assert {"pass1", "pass2", "pass3", "pass4"} <= set(project.secrets)
    assert isinstance(replace(project.target, name="y"), Target)
