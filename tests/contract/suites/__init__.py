"""Contract suites: the tests that each implementation of a protocol must pass."""
