"""What an agent can do with files and a shell: tools over any backend."""
