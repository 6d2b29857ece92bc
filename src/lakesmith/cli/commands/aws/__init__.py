"""Commands for a project on AWS."""
