"""Definitions and state in, steps out: pure, so that what is shown by ``plan`` is what ``run`` does."""
