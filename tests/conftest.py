"""Settings of every test run."""

import os
import sys

from hypothesis import HealthCheck, Phase, settings

from tests.local_models import qwen, smol
from tests.postgres import (
    _served_template,
    own_postgres,
    plain_postgres_url,
    pooled,
    postgres_server,
    postgres_url,
    served,
)

__all__ = [
    "_served_template",
    "own_postgres",
    "plain_postgres_url",
    "pooled",
    "postgres_server",
    "postgres_url",
    "qwen",
    "served",
    "smol",
]  # fixtures, for any test

# Tests write modules over within a second, which is as fine as the clock of bytecode ticks.
sys.dont_write_bytecode = True
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"

settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=40,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.target, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("deep", parent=settings.get_profile("ci"), max_examples=1_000)
settings.register_profile("fast", parent=settings.get_profile("ci"), phases=[Phase.generate])
settings.load_profile("ci")
