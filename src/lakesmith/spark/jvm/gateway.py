"""Values that come through the gateway to Java."""

from __future__ import annotations

from typing import Any


def java_class(jvm: Any, name: str) -> Any:
    """A class by its name, to be reflected upon: the gateway itself reaches neither Scala objects nor hidden static methods."""
    return jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(name)


def elements(collection: Any) -> list[Any]:
    """The elements of a Java collection.

    Not by iterating over it: the end of a Java iterator is an exception that is translated, which takes some 20 ms.
    """
    array = collection.toArray()
    return [array[place] for place in range(len(array))]
