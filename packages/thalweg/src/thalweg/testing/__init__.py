"""Models without a provider, for tests of agents."""

from thalweg.testing.model import OfflineModel, Script, ScriptedModel

__all__ = ["OfflineModel", "Script", "ScriptedModel"]
