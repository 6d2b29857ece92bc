"""The kinds of batches, one file for each kind of step. Only the engine and `verify` call them."""
