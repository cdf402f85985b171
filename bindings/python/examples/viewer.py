"""Prints the poses of the tracker: `python viewer.py NAME`."""

import struct
import sys

import nowcast

channel = nowcast.connect(sys.argv[1], timeout=10)
while (message := channel.receive()).kind == "state":
    x, _, z = struct.unpack("3f", message.data)
    print(f"pose {message.key}: {x:.2f} {z:.2f}, {message.age * 1000:.1f} ms old")
print(message.data.decode())
