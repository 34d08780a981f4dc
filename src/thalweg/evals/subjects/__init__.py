"""Whoever can be evaluated: our agent, installed peers, any graph of LangGraph's, any server."""
