"""All rows, in the order of the table."""
import importlib.util

import checks
import modes
import paths
import race
import resume

# What the quick suite has: each group's rows that say most.
QUICK = [
    "connect-healthy", "connect-dead", "connect-history", "connect-middlebox", "change", "interfaces",
    "dead-both-rr", "dead-both-down", "link-rr", "link-down", "cold-dead", "bufferbloat", "dies-wlan0-down",
    "prohibited-handover-blackhole", "bulk-up", "request-response", "check-iperf3", "check-curl"]


def all_rows():
    groups = [("connecting", race.race_rows() + resume.resume_rows()), ("paths", paths.path_rows()), ("modes", modes.mode_rows())]
    if importlib.util.find_spec("data"):
        import data
        groups.append(("data", data.data_rows()))
    groups.append(("checks", checks.check_rows()))
    for group, rows in groups:
        for row in rows:
            row.group = row.group or group
    return [row for _, rows in groups for row in rows]
