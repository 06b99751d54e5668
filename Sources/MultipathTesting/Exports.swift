@_exported import Multipath
