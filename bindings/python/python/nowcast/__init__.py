"""Real-time channels and shared virtual worlds: newest state first, events never lost.

Blocking calls are in this module, and those for asyncio in `nowcast.aio`.
"""

import atexit

from ._nowcast import (
    Channel,
    Closed,
    Codec,
    Error,
    Listener,
    Message,
    Publisher,
    Refused,
    Service,
    World,
    _exit,
    advertise,
    connect,
    listen,
    read_save,
)
from .typed import Type, f32, i8, i16, i32, i64, u8, u16, u32, u64

__all__ = [
    "Channel",
    "Closed",
    "Codec",
    "Error",
    "Listener",
    "Message",
    "Publisher",
    "Refused",
    "Service",
    "Type",
    "World",
    "advertise",
    "connect",
    "f32",
    "i8",
    "i16",
    "i32",
    "i64",
    "listen",
    "read_save",
    "u8",
    "u16",
    "u32",
    "u64",
]

# Threads that wait in a call stay there when the interpreter ends.
atexit.register(_exit)
