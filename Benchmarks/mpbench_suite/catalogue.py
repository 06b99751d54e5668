"""All rows, in the order of the table."""
from .rows import checks, data, exodus, healthy, http, modes, paths, race, radio, segments, stream

# What the quick suite has: each group's rows that say most.
QUICK = [
    "connect-healthy", "connect-dead", "connect-history", "connect-middlebox", "change", "interfaces",
    "dead-both-rr", "dead-both-down@bbr", "link-rr", "link-down@bbr", "cold-dead", "bufferbloat", "dies-wlan0-down@bbr",
    "prohibited-handover-blackhole", "bulk-up", "request-response", "check-iperf3", "check-curl"]


def all_rows(radio_folder=None):
    """- radio_folder: of recorded links, each of which gets rows of its own."""
    groups = [("connecting", race.race_rows()), ("paths", paths.path_rows()),
              ("modes", modes.mode_rows() + segments.segment_rows() + exodus.exodus_rows()), ("healthy", healthy.healthy_rows()),
              ("radio", radio.radio_rows(radio_folder)), ("data", data.data_rows()),
              ("http", http.http_rows()), ("streams", stream.stream_rows()), ("checks", checks.check_rows())]
    for group, rows in groups:
        for row in rows:
            row.group = row.group or group
    return [row for _, rows in groups for row in rows]
