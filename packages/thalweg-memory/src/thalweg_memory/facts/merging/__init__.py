"""How a new fact relates to existing ones, and which facts are valid now.

Two rules: rules decide, never likeness; a superseded fact is kept with its dates.
"""
