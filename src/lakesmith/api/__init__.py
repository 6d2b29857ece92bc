"""The front door: each command of lakesmith is one call of ``Lakehouse``. Nothing here prints, or knows a
terminal.

A call is a method of ``Lakehouse`` (its docstring is the reference) that delegates to a function
``call(access, …)`` in a module of this folder, imported when it is called. ``access`` reads the project
(``opened()``), starts Spark (``session``, and ``do_in_spark`` around what uses it), takes the lock
(``alone``) and speaks to the host program.

A call returns a frozen dataclass with ``to_dict()``: exactly what ``--json`` prints. A call that loses
something returns a ``results.Change``: a frozen ``preview`` (what would happen), the ``heads`` it was made
for, and ``apply()``, which takes the lock, refuses with LS511 if a head moved, and returns the result;
``dropping`` is the example to follow. Long calls take ``on_event``. ``cli`` parses, calls
``open_lake(...)``, and renders with ``show`` and ``apply_agreed`` of ``cli.command``.
"""
