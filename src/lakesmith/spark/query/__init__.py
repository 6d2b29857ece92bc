"""The rows of a declared query, in SQL or Python, over the planned ranges of its inputs. Nothing here writes."""
