"""The intake: takes events over HTTP and writes them to landing files."""
