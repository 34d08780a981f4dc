"""What may become a fact: whatever a model proposes, code decides.

Two rules: a fact rests on the user's own plain words and says no more than they do; trust comes
from where a text is from, and nothing raises it.
"""
