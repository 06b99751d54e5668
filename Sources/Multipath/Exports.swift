@_exported import PathCore
