"""The engines, a file each: for each type of catalog the function that writes the snippet, or why there is none."""
