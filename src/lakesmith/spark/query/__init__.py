"""The rows of a declared query over the planned ranges of its inputs. Nothing here writes."""
