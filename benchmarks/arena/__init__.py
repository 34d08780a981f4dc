"""The arena: Thalweg's policies beside installed peers, over recorded and scripted threads."""
