"""What the best in hindsight would have cost: bounds to hold a policy against.

Two rules: a bound is worked out from what a recording needed, not by trying policies; it says
whom it binds, and where it cannot know it takes the cheaper side.
"""
