"""The live window of a thread: what the next model call sends, and whether it is valid.

Pure. Begin with `window.py`.
"""
