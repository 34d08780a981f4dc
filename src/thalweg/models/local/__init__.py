"""Models in files, run by llama.cpp in a process under this one."""

from thalweg.models.local.opening import local_model

__all__ = ["local_model"]
