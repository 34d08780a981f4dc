"""Scripted models of stated competence: the mechanism is tested, not a model's luck.

A case says what a model does that understands it (`Acts.act`), given no more than what stands in
the request. The *competence* says how such a model finds what left its context, and what it
keeps when it is asked for a summary.
"""
