"""The engine: decide what one model call sends. Pure."""
