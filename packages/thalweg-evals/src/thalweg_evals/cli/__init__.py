"""`thalweg eval`: probes put to agents.

Two rules: all that is named is found before the first trial; what was played is on the disk
before the next trial begins.
"""
