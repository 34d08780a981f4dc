"""Models in GGUF files: fetched by `pull`, run by llama.cpp in a process under this one."""
