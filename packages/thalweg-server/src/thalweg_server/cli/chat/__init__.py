"""`thalweg chat`: an agent on a terminal, or in a pipe.

Two rules: it uses the client alone and imports nothing of agents; the output of a run is a pure
function of its events.
"""

from thalweg_server.cli.chat.command import chat

__all__ = ["chat"]
