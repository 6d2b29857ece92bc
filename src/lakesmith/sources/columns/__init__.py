"""The column contract: from the shapes of a batch's files to the columns of its table."""
