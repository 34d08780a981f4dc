"""The versions, oldest first. A version that was released never changes.

A version has the SQL of its tables in it and imports no component: the statements are those of its
day. It gives each table with rows of owners a wall (`thalweg.migrations.walls`), and begins with
`IF NOT EXISTS` where a component made its tables by itself before.
"""
