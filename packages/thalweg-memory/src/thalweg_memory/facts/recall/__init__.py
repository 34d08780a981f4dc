"""The items of a memory that answer a question, and their presentation.

Two rules: every choice has named reasons; shown items are data, counted to the token.
"""
