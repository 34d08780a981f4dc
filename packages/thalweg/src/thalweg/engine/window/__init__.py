"""The live window of a thread: the messages of the next model call, and their validity.

Pure. Begin with `window.py`.
"""
