"""Benchmarks: `python -m benchmarks.NAME` in the root. They use helpers of the packages' tests."""

import sys
from pathlib import Path

sys.path += [str(path) for path in sorted(Path(__file__).parents[1].glob("packages/*/tests"))]
