"""Worlds in which an agent reacts to its context: removed content costs calls or the task.

`python -m benchmarks.worlds` runs scripted models in them, under several context policies. A world
is a list of steps over sources (`worlds`), a driver performs the steps from the content of its
request alone (`driver`), through real agents (`agents`) or the engine (`engine`), and each request
is priced with a prefix cache (`bill`). Tasks as agents have them, with code, documents, records and
users, are in `tasks`, and the texts of their tools in `texts`.
"""
