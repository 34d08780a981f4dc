"""Forgetting: the plan, its execution in every table, and the erasure of the bytes.

Begin with `plan.py`.
"""
