"""What a new fact is to the known ones, and what holds now.

Two rules: rules decide, never likeness; what is superseded is kept with its dates.
"""
