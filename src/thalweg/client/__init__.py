"""`ThalwegClient`: the same methods in process and over HTTP, sync and async."""
