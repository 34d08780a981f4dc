"""A server of the Model Context Protocol with one tool, on standard input and output."""

import os

from mcp.server.fastmcp import FastMCP

server = FastMCP("whispering", log_level="ERROR")


@server.tool()
def whisper(words: str) -> str:
    """Return words in lower case."""
    return words.lower()


@server.tool()
def leave(words: str) -> str:
    """End this server without a word."""
    os._exit(len(words))


if __name__ == "__main__":
    server.run()
