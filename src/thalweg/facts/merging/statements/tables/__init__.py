"""What statements are read with: words, kinds, attributes and sentences, as tables.

Two rules: a line holds for nearly every statement, never for one; a table is read once, where it
stands, into the form that readers look things up in.
"""
