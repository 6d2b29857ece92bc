"""Posts events to a project's own source of events: to try it out, and to see what it stands. Knows nothing of how they are taken."""
