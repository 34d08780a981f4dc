"""How English statements are read.

Two rules: every word is folded before anything looks at it; the tables know English, the readers
only how tables are used.
"""
