"""Measures: recorded sessions under policies, and evals of any agent.

`recordings` parses logs of agents, `replay` computes what policies would have cost, `evals` asks an
agent. May import the agent and `testing`; nothing of the agent or the server imports it.
"""
