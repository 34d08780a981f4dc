"""Rules by which providers refuse requests, one file per API.

Each rule is taken from the provider's documentation.
"""
