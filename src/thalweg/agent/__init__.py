"""The deep agent: its graph, tools, skills, subagents and profiles.

`create_deep_agent` (`agent.graph`) puts together what is in `thalweg.middleware`. May import the
engine, the archive, memory, and backends. Begin with `agent/graph/create.py` and `layers.py`.
"""
