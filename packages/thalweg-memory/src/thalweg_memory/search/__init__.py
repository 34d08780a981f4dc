"""Search in a memory: the index of words.

Begin with `index.py`.
"""
