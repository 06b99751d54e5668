import TestSupport
import Testing

/// All suites of tests that run labs, one after another: they measure times, and two labs would disturb each other.
@Suite("In a lab", .serialized, .lab)
enum Labs {}
