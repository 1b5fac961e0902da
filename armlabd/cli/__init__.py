"""cli: the command line. It talks to the daemon over HTTP; `run` and `sim` start processes."""
