"""Objects of the JVM that Python has dropped, which the JVM may forget.

Py4J says so in a call for each object: a third of all calls of a small batch. Here it is one call for all
that were dropped within a second.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from py4j.clientserver import SHUTDOWN_FINALIZER_WORKER
from py4j.protocol import Py4JError


def forget_together(gateway: Any) -> None:
    """Makes a gateway's thread for dropped objects (Py4J's ``FinalizerWorker``) forget many at a time."""
    client, waiting = gateway._gateway_client, gateway._gateway_client.finalizer_deque
    java, known = gateway.jvm.java.util, gateway.java_gateway_server.getGateway().getBindings().keySet()

    def garbage_collect_object(target_id: str, enqueue: bool = True) -> None:
        if enqueue:
            waiting.appendleft((client, target_id))
            return
        names = [target_id]
        while waiting:
            if (task := waiting.pop()) == SHUTDOWN_FINALIZER_WORKER:
                waiting.append(task)
                break
            names.append(task[1])
        # A JVM that has ended has forgotten all of them.
        with suppress(Py4JError, OSError):
            known.removeAll(java.Collections.list(java.StringTokenizer(" ".join(names))))

    client.garbage_collect_object = garbage_collect_object
