"""Several agents that work with the same files: locks, versions, and unseen changes.

May import the protocol and `backends.calls`. Begin with `shared.py`.
"""
