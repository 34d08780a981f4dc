"""Skills: folders with a `SKILL.md`, read, chosen under a budget, told to the model.

Two rules: whatever stands in a skill's file, reading it never raises; what the model is told is
the same text, to the byte, for the same skills and choice.
"""
