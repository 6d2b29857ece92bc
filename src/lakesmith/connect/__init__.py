"""How other engines read the lake: from a target and its tables, as frozen data, to the text that is pasted into an engine.

``read`` gathers what is known (``model.Lake``), ``registry`` has a file in ``engines/`` for each engine, ``render`` puts the text together.
Values from the environment never get here: ``values`` has their names in their place.
"""
