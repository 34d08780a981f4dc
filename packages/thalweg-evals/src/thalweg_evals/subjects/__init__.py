"""Systems under evaluation: our agents, LangChain's, any LangGraph graph, any server."""
