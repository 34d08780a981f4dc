"""Times as people tell them, in English and Chinese, and the days they mean.

Two rules: what is told from the day it was said on gets its date; a time that cannot be told is
left as it was said.
"""
