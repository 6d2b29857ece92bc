"""A real Kafka for tests, with a password: one process from Maven's jars, which Spark's Ivy fetches once."""

import logging
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from lakesmith.spark.start.find_java import find_java
from lakesmith.spark.start.jars import ensure_jars, spark_home
from server_process import ServerProcess, free_port, started

BROKER_JARS: Final = ("org.apache.kafka:kafka_2.13:4.1.1",)
PASSWORD: Final = "s3cr3t-of-the-brokers"
_CLUSTER: Final = "MkU3OEVBNTcwNTJENDM2Qg"
_PATIENCE: Final = 90.0
_LOGIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_MEMORY: Final = ("-Xmx384m", "-Xms128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")

Record = tuple[str | bytes | None, str | bytes | None]
"""A key and a value."""


class Server:
    """A broker that is its own controller, with its data in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.process = ServerProcess(folder)
        self.port, self._controller = free_port(), free_port()

    @property
    def properties(self) -> dict[str, str]:
        return {
            "bootstrap.servers": f"127.0.0.1:{self.port}", "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN", "sasl.username": "lake", "sasl.password": PASSWORD,
        }  # fmt: skip

    @property
    def connection(self) -> str:
        return "\n".join(f"{name}={value}" for name, value in self.properties.items())

    def start(self) -> None:
        """Starts it, again after an end, and waits until it answers."""
        settings = self.process.folder / "server.properties"
        if not settings.exists():
            settings.write_text(self._settings())
            format_ = self._java("kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", settings)
            subprocess.run(format_, check=True, capture_output=True, timeout=_PATIENCE)
        self.process.start(self._java("kafka.Kafka", settings), os.environ)
        self.process.wait_for(self._topics, _PATIENCE)

    def end(self) -> None:
        self.process.end()

    def _topics(self) -> object:
        try:
            return self.admin.list_topics(timeout=1)
        except KafkaException:
            return None

    @cached_property
    def admin(self) -> AdminClient:
        return AdminClient(self.properties, logger=_quiet())

    def make(self, topic: str, partitions: int = 1, **settings: str) -> None:
        """Makes a topic; anew, if it is there."""
        self.drop(topic)
        config = {name.replace("_", "."): value for name, value in settings.items()}
        _wait(self.admin.create_topics([NewTopic(topic, partitions, 1, config=config)]))
        while topic not in self.admin.list_topics(timeout=10).topics:
            time.sleep(0.05)

    def drop(self, topic: str) -> None:
        admin = self.admin
        if topic not in admin.list_topics(timeout=10).topics:
            return
        _wait(admin.delete_topics([topic]))
        while topic in admin.list_topics(timeout=10).topics:
            time.sleep(0.05)

    def add_partitions(self, topic: str, total: int) -> None:
        _wait(self.admin.create_partitions([NewPartitions(topic, total)]))

    def forget_before(self, topic: str, offset: int, partition: int = 0) -> None:
        """Deletes the records of a partition below an offset, as retention does."""
        _wait(self.admin.delete_records([TopicPartition(topic, partition, offset)]))

    def send(
        self,
        topic: str,
        records: Sequence[Record],
        partition: int = 0,
        headers: Sequence[tuple[str, bytes | None]] = (),
        more: Mapping[str, Any] | None = None,
    ) -> None:
        """Writes records. ``more``: producer settings; with a ``transactional.id``, one transaction."""
        producer = Producer({**self.properties, "linger.ms": 0, **(more or {})}, logger=_quiet())
        in_transaction = "transactional.id" in (more or {})
        if in_transaction:
            producer.init_transactions(20)
            producer.begin_transaction()
        for key, value in records:
            producer.produce(topic, value, key, partition=partition, headers=list(headers) or None)
        producer.flush(20)
        if in_transaction:
            producer.commit_transaction(20)

    def _java(self, *command: str | Path) -> list[str | Path]:
        java = find_java()
        jars = [*ensure_jars(java, BROKER_JARS), spark_home() / "jars" / "*"]
        return [java.executable, *_MEMORY, "-cp", ":".join(map(str, jars)), *command]

    def _settings(self) -> str:
        users = f'username="admin" password="{PASSWORD}" user_admin="{PASSWORD}" user_lake="{PASSWORD}"'
        settings = {
            "process.roles": "broker,controller", "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller}",
            "listeners": f"BROKER://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self._controller}",
            "advertised.listeners": f"BROKER://127.0.0.1:{self.port}",
            "listener.security.protocol.map": "BROKER:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "BROKER", "controller.listener.names": "CONTROLLER",
            "sasl.enabled.mechanisms": "PLAIN", "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "listener.name.broker.plain.sasl.jaas.config": f"{_LOGIN} {users};",
            "log.dirs": str(self.process.folder / "data"), "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1", "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1", "transaction.state.log.num.partitions": "1",
            "auto.create.topics.enable": "false", "log.cleaner.enable": "false",
        }  # fmt: skip
        return "".join(f"{name}={value}\n" for name, value in settings.items())


def running() -> AbstractContextManager[Server]:
    return started(Server)


def _wait(futures: Mapping[Any, Any]) -> None:
    for future in futures.values():
        future.result(20)


def _quiet() -> logging.Logger:
    """For what a client says of a server that is not there yet."""
    logger = logging.getLogger("kafka-of-tests")
    logger.setLevel(logging.CRITICAL + 1)
    return logger
