"""How brokers are reached, in the words of both clients; nothing wrong is told with a value."""

import json
from pathlib import Path

import pytest

from lakesmith.errors import Place, SourceError
from lakesmith.project.definitions import KafkaSource
from lakesmith.project.formats import FileFormat
from lakesmith.sources.kafka import broker
from lakesmith.sources.kafka.broker import WrongConnection, java_properties, read_connection

SASL = {
    "bootstrap.servers": "a:9092,b:9092",
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.username": "me",
    "sasl.password": 'p"\\=#1',
}


def test_three_ways_to_write_it() -> None:
    lines = "# shop\n\n" + "\n".join(f" {name} = {value} " for name, value in SASL.items())
    assert read_connection(" a:9092,b:9092 ") == {"bootstrap.servers": "a:9092,b:9092"}
    assert read_connection(json.dumps(SASL)) == read_connection(lines) == SASL
    assert read_connection(lines.replace("sasl.mechanism", "sasl.mechanisms")) == SASL


def test_a_login_in_javas_words() -> None:
    java = java_properties(SASL)
    assert java.pop("sasl.jaas.config") == (
        "org.apache.kafka.common.security.scram.ScramLoginModule required"
        ' username="me" password="p\\"\\\\=#1";'
    )
    assert java == {name: SASL[name] for name in ("bootstrap.servers", "security.protocol", "sasl.mechanism")}


def test_certificates_in_javas_words(tmp_path: Path) -> None:
    (tmp_path / "me.pem").write_text("CERTIFICATE")
    (tmp_path / "key.pem").write_text("KEY")
    (tmp_path / "ca.pem").write_text("CA")
    named = {
        "bootstrap.servers": "a:9093", "ssl.ca.location": str(tmp_path / "ca.pem"),
        "ssl.certificate.location": str(tmp_path / "me.pem"), "ssl.key.location": str(tmp_path / "key.pem"),
        "ssl.endpoint.identification.algorithm": "none",
    }  # fmt: skip
    assert java_properties(read_connection(json.dumps(named))) == {
        "bootstrap.servers": "a:9093", "ssl.endpoint.identification.algorithm": "",
        "ssl.truststore.type": "PEM", "ssl.truststore.location": str(tmp_path / "ca.pem"),
        "ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": "CERTIFICATE",
        "ssl.keystore.key": "KEY",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"bootstrap.servers": secret}', "it begins as a JSON object but is not one"),
        ('{"bootstrap.servers": 1}', "not all of its values are texts"),
        ("sasl.password=secret", "it has no bootstrap.servers"),
        ("bootstrap.servers=a\nsasl.pasword=secret", "'sasl.pasword' is none of "),
        ("bootstrap.servers=a\nsasl.password=secret", "sasl.username and sasl.password go together"),
        ("bootstrap.servers=a\nsasl.password=secret\nsasl.username=me",
         "with sasl.username, sasl.mechanism is"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_without_values(text: str, said: str) -> None:
    with pytest.raises(WrongConnection) as error:
        read_connection(text)
    assert str(error.value).startswith(said)
    assert "secret" not in str(error.value)


def source(connection: str) -> KafkaSource:
    place = Place("t.yaml", 1)
    return KafkaSource("kafka", "kafka:x", FileFormat.JSON, place, connection=connection, topic="clicks")


def test_brokers_that_are_away() -> None:
    """They are given up at once where nobody listens, and not asked again for a while."""
    away = {"NOBODY": "127.0.0.1:1"}
    for _ in range(2):
        with pytest.raises(SourceError) as error:
            broker.topic_state(source("NOBODY"), away)
        assert error.value.problems[0].code == "LS461"
        assert "refused" in str(error.value.problems[0].found)
    assert "NOBODY clicks" in broker._failed


def test_nobody_says_where_they_are() -> None:
    with pytest.raises(SourceError) as error:
        broker.topic_state(source("NOT_SET"), {})
    assert (error.value.problems[0].code, error.value.problems[0].found) == ("LS460", "it is not set")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "find_spec", lambda _: None)
    with pytest.raises(SourceError) as error:
        broker.topic_state(source("ANY"), {"ANY": "a:1"})
    assert error.value.problems[0].code == "LS312"
