"""What the pictures of single runs are drawn from."""
from .figures import fault
from .lab import Network
from .rows.modes import named, shallow


def handover(lab, contender):
    """A download while Wi-Fi dies: seconds since that, and megabytes since the download began."""
    result = lab.run(shallow(Network()), named(contender), "down", 4.0, [(1.5, "wlan0", "blackhole")])
    moment, step = fault(result), result["bucket"]
    points, total = [], 0
    # A stall is drawn to the run's end, also where no byte came after it.
    for index in range(int(result["end"] / step)):
        total += result["buckets"][index] if index < len(result["buckets"]) else 0
        points.append([round((index + 1) * step - moment, 3), round(total / 1e6, 4)])
    return points


def bufferbloat(lab, contender):
    """Requests while Wi-Fi's RTT goes from 20 to 500 ms: seconds since that, and milliseconds each took."""
    result = lab.run(Network(), named(contender, "interactive"), "rr", 4.6, [(1.0, "wlan0", "rtt=500ms")])
    moment = fault(result)
    return [[round(sent - moment, 3), round(1e3 * took, 2)] for sent, took in result["requests"] if took >= 0]


PICTURES = {"handover": (handover, ("ours", "kernel", "mptcpd-addr_adv", "mptcpd-sspi")),
            "bufferbloat": (bufferbloat, ("ours", "kernel"))}
