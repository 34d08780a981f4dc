"""The commands of the flight recorder: one file a command."""
