"""What Python programs and the command line call: a project opened, run and read. Nothing here prints, or knows a terminal."""
