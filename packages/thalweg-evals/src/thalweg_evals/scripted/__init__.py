"""Scripted models of a defined competence: they test the mechanism, not a model's luck.

A case defines the moves of a model that understands it (`Acts.act`), using only the content of the
request. The *competence* defines how such a model finds removed content, and the content it keeps
in a requested summary.
"""
