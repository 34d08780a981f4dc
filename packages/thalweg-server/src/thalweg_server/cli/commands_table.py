"""The commands of the server and its clients."""

from typing import Final

COMMANDS: Final = {
    "chat": ("thalweg_server.cli.chat:chat", "Chat with an agent in the terminal."),
    "serve": ("thalweg_server.cli.serve:serve", "Serve the HTTP API."),
    "ui": ("thalweg_server.cli.ui:ui", "Show threads and recorded sessions in the browser."),
    "config": ("thalweg_server.cli.config:config", "Check, show or write a configuration."),
    "doctor": ("thalweg_server.cli.doctor:doctor", "Check this installation."),
}
"""Where each command is, and its line of the help."""
