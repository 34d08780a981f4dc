"""The report of an evaluation: one page that needs nothing but a browser.

Two rules: the page itself computes only sums and means, every interval is computed before; and of
the agents' requests, it includes in full only those that show a failure.
"""

from thalweg_evals.report.rendering import render_report, write_report

__all__ = ["render_report", "write_report"]
