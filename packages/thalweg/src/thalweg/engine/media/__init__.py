"""Images, documents, sounds and films: their contents, their costs, the limits of providers.

Content without a textual form is priced by its pages, pixels and seconds, never by its bytes; a
price that is not exact has a lower bound, too. Prices and limits are data with their sources:
`media.toml`. Begin with `cost.py`.
"""
