"""The cost of the best decisions in hindsight: bounds for comparison with a policy.

Two rules: a bound is computed from what a recording needed, not by trying policies; its
documentation states which policies it bounds, and unknown costs are underestimated.
"""
