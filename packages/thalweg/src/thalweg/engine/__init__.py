"""The context engine: decides what one model call sends. Pure, except for `wires`.

Two rules: nothing here reads a clock or a network, inputs are arguments; nothing is removed from a
window without an edit that states the reason. Imports nothing of the other packages but `errors`.
Begin with `engine.py`, `edits.py` and `window/window.py`.
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazy_exports

if TYPE_CHECKING:
    from thalweg.engine.compaction.policy import Policy, RentOrBuy, Thresholds
    from thalweg.engine.compaction.thresholds import Threshold
    from thalweg.engine.engine import Engine
    from thalweg.engine.pricing.overrides import ModelPricing, Pricing
    from thalweg.engine.pricing.table import TARIFFS
    from thalweg.engine.pricing.tariff import Tariff
    from thalweg.engine.settings import ContextPolicy, Offload
    from thalweg.engine.window.budget import Budget
    from thalweg.engine.window.items import WindowItem

__all__ = [
    "TARIFFS",
    "Budget",
    "ContextPolicy",
    "Engine",
    "ModelPricing",
    "Offload",
    "Policy",
    "Pricing",
    "RentOrBuy",
    "Tariff",
    "Threshold",
    "Thresholds",
    "WindowItem",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Budget": "thalweg.engine.window.budget",
        "ContextPolicy": "thalweg.engine.settings",
        "Engine": "thalweg.engine.engine",
        "WindowItem": "thalweg.engine.window.items",
        "ModelPricing": "thalweg.engine.pricing.overrides",
        "Offload": "thalweg.engine.settings",
        "Policy": "thalweg.engine.compaction.policy",
        "Pricing": "thalweg.engine.pricing.overrides",
        "RentOrBuy": "thalweg.engine.compaction.policy",
        "TARIFFS": "thalweg.engine.pricing.table",
        "Tariff": "thalweg.engine.pricing.tariff",
        "Threshold": "thalweg.engine.compaction.thresholds",
        "Thresholds": "thalweg.engine.compaction.policy",
    },
)
