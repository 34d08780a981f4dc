"""`thalweg doctor`: what works on this machine, and the command that fixes what does not.

Each file here returns findings of one subject; `command` prints them. Nothing is written, no model
is asked, and a secret is never part of a finding.
"""

from thalweg_server.cli.doctor.command import doctor

__all__ = ["doctor"]
