"""A bot that runs to the ball and kicks it: `python football.py nowcast://127.0.0.1:7777/football SECONDS`."""

import math
import sys
import time

import nowcast


def places(world: nowcast.World, kind: str) -> list[tuple[float, float, float]]:
    """Returns where the entities of a kind are. An entity that has just appeared has no place yet."""
    entities = [world.entity(id) for id in world.entities()]
    return [entity["position"] for entity in entities if entity["kind"] == kind and entity["position"]]


def main(address: str, seconds: float) -> None:
    world = nowcast.World(nowcast.connect(address, timeout=10), "Bot", predict=True)
    end, walked, before = time.monotonic() + seconds, 0.0, None
    while time.monotonic() < end:
        world.update(timeout=0.02)
        while world.update() is not None:
            pass
        position = world.advance()
        balls = places(world, "ball")
        if position is None or not balls:
            continue
        if before is not None:
            walked += math.dist(position, before)
        before = position
        ball = balls[0]
        # Yaw 0 faces -Z, and grows counter-clockwise seen from above.
        yaw = math.atan2(position[0] - ball[0], position[2] - ball[2])
        world.input(forward=1.0, yaw=yaw, run=True)
    print(f"player {world.player} walked {walked:.1f} m")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
