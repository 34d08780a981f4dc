"""Systems under evaluation: our agents, installed peers, any LangGraph graph, any server."""
