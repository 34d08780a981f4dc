"""`config.yaml`: read, checked in words, and frozen."""
