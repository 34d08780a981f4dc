"""File and shell tools of an agent, over any backend."""
