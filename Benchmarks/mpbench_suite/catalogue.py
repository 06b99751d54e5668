"""All rows, in the order of the table."""
from .rows import checks, data, modes, paths, race, resume

# What the quick suite has: each group's rows that say most.
QUICK = [
    "connect-healthy", "connect-dead", "connect-history", "connect-middlebox", "change", "interfaces",
    "dead-both-rr", "dead-both-down", "link-rr", "link-down", "cold-dead", "bufferbloat", "dies-wlan0-down",
    "prohibited-handover-blackhole", "bulk-up", "request-response", "check-iperf3", "check-curl"]


def all_rows():
    groups = [("connecting", race.race_rows() + resume.resume_rows()), ("paths", paths.path_rows()),
              ("modes", modes.mode_rows()), ("data", data.data_rows()), ("checks", checks.check_rows())]
    for group, rows in groups:
        for row in rows:
            row.group = row.group or group
    return [row for _, rows in groups for row in rows]
