"""What we ship to those who test against us: contract suites, and a strict model provider."""
