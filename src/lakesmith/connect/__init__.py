"""How other engines read the lake: from a target and its tables to the text that is pasted into an engine.

``read`` gathers the facts (``model.Lake``), ``registry`` lists the engines, ``render`` fills in a template.
Values of environment variables never get here: ``values`` puts in their names.
"""
