"""Virtual files: one protocol, kept in an agent's state, a folder, a store, a sandbox."""
