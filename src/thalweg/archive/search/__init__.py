"""Search in an archive: its index, the query, the ranking and the excerpts.

May import `engine.words` and the protocol of the archive. Begin with `question.py` (the query),
then `index.py` (candidates) and `ranking.py` (their order).
"""
