"""What is remembered across threads, and every decision about it. Pure.

Two rules: nothing remembered ever trusts more than what it was learned from; nothing that is
superseded, merged or edited is overwritten, it is kept with its dates.
"""
