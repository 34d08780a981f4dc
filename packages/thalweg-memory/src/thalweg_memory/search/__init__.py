"""Search in a memory: the index of words, vectors, and reading the items found.

Begin with `index.py`.
"""
