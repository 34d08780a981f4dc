"""The context engine: decide what one model call sends. Pure.

Two rules: nothing here reads a clock, a file or a network, inputs are arguments; nothing is
removed from a view without an edit that states the reason.
"""

from thalweg.context.budget import Budget
from thalweg.context.engine import Engine
from thalweg.context.overrides import ModelPricing, Pricing
from thalweg.context.policy import Policy, RentOrBuy
from thalweg.context.pricing import Tariff
from thalweg.context.settings import ContextPolicy, Offload
from thalweg.context.tariffs import TARIFFS
from thalweg.context.thresholds import Threshold, Thresholds
from thalweg.context.window import Item

__all__ = [
    "TARIFFS",
    "Budget",
    "ContextPolicy",
    "Engine",
    "Item",
    "ModelPricing",
    "Offload",
    "Policy",
    "Pricing",
    "RentOrBuy",
    "Tariff",
    "Threshold",
    "Thresholds",
]
