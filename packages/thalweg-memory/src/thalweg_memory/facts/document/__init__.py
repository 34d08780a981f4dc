"""The memory document: an editable text, and an exchange format between systems.

Two rules: unknown parts of a document are kept; an invalid document changes nothing.
"""
