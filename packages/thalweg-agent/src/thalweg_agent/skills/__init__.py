"""Skills: folders with a `SKILL.md`, parsed, chosen within a budget, listed for the model.

Two rules: reading a skill's file never raises, for any content; the list for the model is
identical, to the byte, for the same skills and choice.
"""
