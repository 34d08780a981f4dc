"""The deep agent: its layers, its prompt, its subagents."""
