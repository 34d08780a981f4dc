"""A server of the Model Context Protocol with one tool, on standard input and output."""

from mcp.server.fastmcp import FastMCP

server = FastMCP("whispering", log_level="ERROR")


@server.tool()
def whisper(words: str) -> str:
    """Say words quietly."""
    return words.lower()


if __name__ == "__main__":
    server.run()
