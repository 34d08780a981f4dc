"""LangGraph's API at the root: the routes that its clients and front ends call.

Source: https://docs.langchain.com/langsmith/server-api-ref
"""
