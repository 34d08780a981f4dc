"""Commands in a sandbox that do the work of a backend: the script, its results, its output.

`script.py` runs in the sandbox, with Python 3.8 and nothing else. Begin with `commands.py`.
"""
