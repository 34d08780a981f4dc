"""The content remembered across threads, and every decision about it. Pure.

Two rules: no remembered item has more trust than its source; an item that is superseded, merged
or edited is not overwritten, but kept with its dates.
"""
