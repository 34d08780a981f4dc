"""Clients of JavaScript and pages in a browser."""
