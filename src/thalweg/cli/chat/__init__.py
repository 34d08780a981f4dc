"""`thalweg chat`: an agent on a terminal, or in a pipe.

Two rules: it speaks through the client alone and knows nothing of agents; what is shown of a run
is a pure function of its events.
"""

from thalweg.cli.chat.command import chat

__all__ = ["chat"]
