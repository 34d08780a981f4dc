"""The shapes of the HTTP API: frozen models that gateway, client and app share."""
