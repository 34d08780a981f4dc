"""What the best in hindsight would have cost: bounds to hold a policy against.

Two rules: nothing here drives an engine, it only prices what a recording needed; a bound
says whom it binds, and where it cannot know it takes the cheaper side.
"""

from thalweg.replay.oracle.bounds import FoldAt, Hindsight, Oracle, oracle_of

__all__ = ["FoldAt", "Hindsight", "Oracle", "oracle_of"]
