"""Landing files to frames in which every record is accounted for; one file for each format. Nothing here writes, or knows tables."""
