"""The engine in other agent frameworks: one adapter a framework, over one `EngineSlot`.

May import the engine, the archive and `middleware`. Begin with `slot.py`. Each adapter imports its
framework, which an extra of the same name installs.
"""
