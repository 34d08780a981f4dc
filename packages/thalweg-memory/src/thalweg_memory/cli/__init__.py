"""`thalweg memory`: the commands, and their output.

Two rules: a command opens one memory for one scope, calls it and prints; the content of a fact
never acts on a terminal.
"""
