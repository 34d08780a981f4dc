"""Settings of the property tests."""

from hypothesis import settings

settings.register_profile("thalweg", deadline=None)  # a slow machine is not a broken law
settings.load_profile("thalweg")
