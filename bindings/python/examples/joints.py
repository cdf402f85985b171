"""Publishes the joints of a robot arm as a typed message, for any number of subscribers: `python joints.py PORT`."""

import dataclasses
import math
import sys
import time

import nowcast


@dataclasses.dataclass
class Joints:
    names: list[str]
    angles: list[nowcast.f32]
    is_moving: bool


JOINTS = nowcast.Type(Joints)

if __name__ == "__main__":
    listener = nowcast.listen(port=int(sys.argv[1]))  # the endpoint closes with this object
    publisher = listener.publish("joints")
    for step in range(300):
        angles = [math.sin(step / 30 + joint) for joint in range(3)]
        publisher.state(1, JOINTS.encode(Joints(["base", "elbow", "wrist"], angles, True)))
        time.sleep(0.01)
