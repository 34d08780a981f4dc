"""The memory document: what people read and edit, and what systems hand to each other.

Two rules: what a document says that has no place here is kept; a document that cannot be read
changes nothing.
"""
