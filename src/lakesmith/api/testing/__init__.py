"""``lakesmith test``: the calls, the runner of stories, one story, and stories from rows of the lake."""
