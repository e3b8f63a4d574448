"""Arguments, progress, exit codes."""
