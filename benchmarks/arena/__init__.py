"""The arena: Thalweg's policies against installed peers, over recorded and scripted threads."""
