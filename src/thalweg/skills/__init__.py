"""Skills: folders with a `SKILL.md`, read, chosen under a budget, told to the model."""
