"""Where a path really leads: through links, and on media that take `A` for `a`."""

import os
from functools import lru_cache
from pathlib import Path

from thalweg.backends.composite import CompositeBackend, route_for_path
from thalweg.backends.filesystem import FilesystemBackend
from thalweg.backends.paths import validate_path
from thalweg.backends.protocol import BackendProtocol
