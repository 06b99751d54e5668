#!/usr/bin/env bash
# `swift`, which hands the package's traits to the compiler in the same order each time. By itself SwiftPM takes them from a
# set, whose order differs from run to run, and where it does all of this package is compiled anew.
exec env SWIFT_DETERMINISTIC_HASHING=1 swift "$@"
