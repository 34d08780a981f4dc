"""The deployable application: an HTTP API built from settings.

`settings` parses `config.yaml`, `app` builds the objects that one owner can reach, `gateway` is its
HTTP API, `runs` outlive the process that performs them. May import the agent and everything below
it.
"""
