import { describe, expect, it } from "vitest";
import { RoomScale } from "../src/xr/room-scale.js";

/** The position of the head in the world. */
function headOf(room: RoomScale, head: { x: number; z: number }): { x: number; z: number } {
  return room.worldOf(head.x, head.z);
}

/** A player whose head is at a place of the room, and whose body stands at a place of the world. */
function begin(head = { x: 0.3, y: 1.6, z: -0.2, yaw: 0.4 }, body = { x: 5, y: 0, z: 5 }): RoomScale {
  const room = new RoomScale();
  room.look(head);
  room.recentre(1);
  room.stand(body.x, body.y, body.z);
  return room;
}

describe("a room in the world", () => {
  it("begins with the head above the body, facing as the body does", () => {
    const room = begin();
    expect(headOf(room, { x: 0.3, z: -0.2 }).x).toBeCloseTo(5);
    expect(headOf(room, { x: 0.3, z: -0.2 }).z).toBeCloseTo(5);
    expect(room.headYaw).toBeCloseTo(1);
  });

  it("moves with the body by a stick, a lift or a correction, and never moves the head in it", () => {
    const room = begin();
    room.stand(5.5, 2, 4.7);
    const head = headOf(room, { x: 0.3, z: -0.2 });
    expect(head.x).toBeCloseTo(5.5);
    expect(head.z).toBeCloseTo(4.7);
    expect(room.position.y).toBe(2);
  });

  it("stays while the body follows a head that walked in its room", () => {
    const room = begin();
    const before = { ...room.position };
    room.look({ x: 0.3, y: 1.6, z: -0.7, yaw: 0.4 });
    const goal = headOf(room, { x: 0.3, z: -0.7 });
    let [x, z] = [5, 5];
    for (let frame = 0; frame < 200; frame++) {
      const way = room.follow();
      if (!way) break;
      // Walks as the engine does: ahead and to the right, relative to the facing direction.
      const [sin, cos] = [Math.sin(room.headYaw), Math.cos(room.headYaw)];
      x += (-way.forward * sin + way.right * cos) * 0.03;
      z += (-way.forward * cos - way.right * sin) * 0.03;
      room.stand(x, 0, z);
      expect(Math.hypot(room.position.x - before.x, room.position.z - before.z)).toBeLessThan(1e-6);
    }
    expect(Math.hypot(x - goal.x, z - goal.z)).toBeLessThan(0.06);
    expect(room.follow()).toBeUndefined();
  });

  it("turns around the head, and not around the body", () => {
    const room = begin();
    const head = { x: 0.6, y: 1.6, z: 0.1, yaw: 0.4 };
    room.look(head);
    const before = headOf(room, head);
    room.turn(Math.PI / 6);
    room.stand(5, 0, 5);
    const after = headOf(room, head);
    expect(after.x).toBeCloseTo(before.x);
    expect(after.z).toBeCloseTo(before.z);
    expect(room.headYaw).toBeCloseTo(1 + Math.PI / 6);
  });

  it("gets dark when the head is where the body cannot come", () => {
    const room = begin();
    expect(room.leaning).toBe(0);
    room.look({ x: 0.3, y: 1.6, z: -1.2, yaw: 0 });
    expect(room.leaning).toBe(1);
  });

  it("follows a teleported body, with the head above it", () => {
    const room = begin();
    room.look({ x: 0.3, y: 1.6, z: -0.5, yaw: 0.4 });
    room.follow();
    room.stand(40, 0, 40);
    const head = headOf(room, { x: 0.3, z: -0.5 });
    expect(Math.hypot(head.x - 40, head.z - 40)).toBeLessThan(0.5);
  });
});
