"""Models that a run may name."""

from __future__ import annotations

from thalweg.api.catalogue import Model, Models


class TenantModels:
    """The models of the settings."""

    async def list(self) -> Models:
        """List all models, the default first."""
        raise NotImplementedError

    async def get(self, name: str) -> Model:
        """Give one model.

        Raises:
            NoSuchModelError: There is none.
        """
        raise NotImplementedError
