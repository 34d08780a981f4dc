"""Routes of the HTTP API, one file per resource.

A route parses the request, calls `server.app`, and returns its result; it decides nothing.
"""
