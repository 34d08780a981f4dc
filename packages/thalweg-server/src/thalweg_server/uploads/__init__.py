"""Uploaded files: accepted types, and extraction of text.

Two rules: a file is accepted only if its content and its name are of one kind; untrusted content is
parsed in a separate process that can be killed.
"""
