"""`thalweg eval`: probes put to agents.

Two rules: all names are resolved before the first trial; each result is on the disk before the
next trial begins.
"""
