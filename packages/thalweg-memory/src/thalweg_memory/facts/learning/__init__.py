"""From a thread to facts: what is kept of it, what a model is asked, what becomes of its answer.

Two rules: nothing a model answers is trusted; the same answer planned twice changes nothing more.
"""
