"""Programs that run in a lab or in other hosts, started by their paths."""
