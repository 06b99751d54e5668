"""All rows, in the order of the table."""
import checks
import modes
import paths
import race

try:
    import data
except ModuleNotFoundError:
    data = None


def all_rows():
    groups = [("connecting", race.race_rows()), ("paths", paths.path_rows()), ("modes", modes.mode_rows())]
    if data:
        groups.append(("data", data.data_rows()))
    groups.append(("checks", checks.check_rows()))
    for group, rows in groups:
        for row in rows:
            row.group = row.group or group
    return [row for _, rows in groups for row in rows]
