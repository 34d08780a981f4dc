"""Files of an owner's threads: uploads, artifacts, and shells over them.

Begin with `files.py`.
"""
