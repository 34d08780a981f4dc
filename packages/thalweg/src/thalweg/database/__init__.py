"""Tables, in a SQLite file or in PostgreSQL: connections, transactions, errors.

Two rules: a statement is written once, in SQL that both databases read alike; every transaction
names the owner whose rows it reads or writes.
"""
