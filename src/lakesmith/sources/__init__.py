"""Where rows enter the lake: what there is to take, found without Spark."""
