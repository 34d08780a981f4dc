"""The gateway: thin HTTP routes over `thalweg.app`."""
