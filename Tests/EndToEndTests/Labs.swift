import TestSupport
import Testing

/// All suites of this target, one after another: they measure times, and two labs would disturb each other.
@Suite("In a lab", .serialized, .lab)
enum Labs {}
