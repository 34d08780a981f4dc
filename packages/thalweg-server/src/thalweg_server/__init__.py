"""What is deployed: settings in, an HTTP API out.

`settings` parses `config.yaml`, `app` builds what one owner can reach, `gateway` is its HTTP API,
`runs` outlive the process that performs them. May import the agent and everything below it.
"""
