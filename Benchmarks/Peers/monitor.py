"""Watches the network with pyroute2: first a line for the routes there are, then one for each change of an IPv4 route.

monitor.py
"""
from pyroute2 import IPRoute
from pyroute2.netlink.rtnl import RTMGRP_IPV4_ROUTE


def main():
    with IPRoute() as route:
        route.bind(groups=RTMGRP_IPV4_ROUTE)
        known = route.get_default_routes()
        print(len(route.get_links()), len(route.get_addr()), len(known), flush=True)
        while True:
            for message in route.get():
                if message["event"] in ("RTM_NEWROUTE", "RTM_DELROUTE"):
                    print(message["event"], message.get_attr("RTA_OIF"), message.get_attr("RTA_GATEWAY"), flush=True)


if __name__ == "__main__":
    main()
