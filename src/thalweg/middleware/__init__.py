"""The engine inside any LangChain agent: thin shells around the pure rooms."""
