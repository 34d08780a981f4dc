"""Prices of tokens by model, and the costs and savings computed from them.

Pure. Begin with `tariff.py`; the prices are in `tariffs.toml`.
"""
