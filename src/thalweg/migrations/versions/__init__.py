"""The versions, oldest first. A version that was released never changes."""
