"""Files and commands of this machine: paths below a folder, processes and their limits.

Imports nothing of the other backends. Begin with `commands.py` or `disk.py`.
"""
