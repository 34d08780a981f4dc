"""Search in a memory: the index of words, vectors, and reading what was found.

Begin with `index.py`.
"""
