"""The gateway, part by part."""
