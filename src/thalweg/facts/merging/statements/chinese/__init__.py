"""How Chinese statements are read.

Two rules: numbers and times are spelt one way before anything looks at them; the tables know
Chinese, the readers only how tables are used.
"""
