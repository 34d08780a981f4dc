"""A chat model by its name: of a provider, behind a URL, or in this process."""
