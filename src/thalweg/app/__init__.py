"""Composition: settings in, running parts out; and what one owner can reach of them."""
