"""The report of an evaluation: one page that needs nothing but a browser.

Two rules: what the page computes are sums and means, every interval is computed before it; and
of what agents were sent, only the requests that show a failure are in it whole.
"""

from thalweg.evals.report.rendering import render_report, write_report

__all__ = ["render_report", "write_report"]
