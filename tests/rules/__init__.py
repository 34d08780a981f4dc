"""The providers' rules for a request, and real clients held against them."""
