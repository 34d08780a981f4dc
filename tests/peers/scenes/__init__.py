"""Scenes that are played on two packages."""

from tests.peers.scenes import files, places, rights, runs, subagents
from tests.peers.scenes.stage import IS_ASYNC, SCENES, Scene

__all__ = ["IS_ASYNC", "SCENES", "Scene", "files", "places", "rights", "runs", "subagents"]
