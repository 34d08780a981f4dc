"""What of a memory answers a question, and how it is told.

Two rules: every choice has named reasons; what is told is data, counted to the token.
"""
