"""Landing files to frames in which every record is accounted for, each format by its own reader. Nothing
here writes, or knows tables."""
