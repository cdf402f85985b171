"""A tracker in one process: `python tracker.py NAME`. It sends the newest pose, and an event at the end."""

import math
import struct
import sys
import time

import nowcast

with nowcast.advertise(sys.argv[1]).accept(timeout=10) as channel:
    for step in range(50):
        channel.state(7, struct.pack("3f", math.sin(step / 10), 0, math.cos(step / 10)))
        time.sleep(0.01)
    channel.event(b"done")
