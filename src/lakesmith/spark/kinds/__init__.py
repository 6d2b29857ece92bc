"""The kinds of batches, one file for each kind of step and what only it needs. Only the engine and `verify` call them."""
