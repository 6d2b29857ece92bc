"""Names of Java packages and classes, asked for once.

Py4J asks the JVM at each dot of ``jvm.org.apache…`` again whether there is a class of that name, in each
package that was imported as well, and Java looks through all jars for what is not there. That took a sixth of
the processor time of warm batches.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaClass, JavaGateway, JavaPackage, JVMView


class _KnownPackage(JavaPackage):  # type: ignore[misc]
    def __getattr__(self, name: str) -> Any:
        return _known(self, name, super().__getattr__(name))


class _KnownView(JVMView):  # type: ignore[misc]
    def __getattr__(self, name: str) -> Any:
        return _known(self, name, super().__getattr__(name))


def remember_names(gateway: JavaGateway) -> None:
    """From now on the gateway's view of the JVM asks for each package and each class once."""
    gateway.jvm.__class__ = _KnownView


def _known(where: object, name: str, found: Any) -> Any:
    """Remembers the class that was found as an attribute. Unknown names are asked for again."""
    if isinstance(found, JavaClass):
        setattr(where, name, found)
    elif isinstance(found, JavaPackage) and name.islower():
        found.__class__ = _KnownPackage
        setattr(where, name, found)
    return found
