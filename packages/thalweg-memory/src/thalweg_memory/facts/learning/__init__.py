"""From a thread to facts: the stored turns, the questions to a model, the use of its answers.

Two rules: no model answer is trusted; the same answer planned twice changes nothing more.
"""
