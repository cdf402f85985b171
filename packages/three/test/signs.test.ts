import { type BufferAttribute, type Mesh, Vector3 } from "three";
import { describe, expect, it } from "vitest";
import { type DrawnEntity, describeBody } from "../src/look/body.js";
import { createPose } from "../src/pose.js";
import { createProp } from "../src/scene/prop.js";
import { layOut } from "../src/scene/signs.js";
import { TRAILS_MAX, Trails } from "../src/scene/trails.js";

function bodyOf(id: number, attributes: DrawnEntity["attributes"], look: Record<string, unknown> = {}) {
  const kind = { name: "thing", body: { motion: "dynamic" }, walker: undefined, look };
  return describeBody({ id, kind, scale: [1, 1, 1], parent: undefined, attributes });
}

describe("a sign", () => {
  it("has the text of the look, or of the attribute, with at most 200 characters", () => {
    expect(bodyOf(1, {}, { shape: "box", size: [1, 1, 1], sign: "Hello" }).appearance?.sign).toBe("Hello");
    const own = bodyOf(1, { sign: "x".repeat(300) }, { shape: "box", size: [1, 1, 1], sign: "Hello" });
    expect(own.appearance?.sign).toHaveLength(200);
    expect(bodyOf(1, { sign: 3 }, { shape: "box", size: [1, 1, 1] }).appearance?.sign).toBe("");
  });

  it("is written as large as its surface allows", () => {
    const wide = layOut("Shop", 2, 0.5);
    expect(wide.lines).toEqual(["Shop"]);
    expect(wide.lineM).toBeGreaterThan(0.3);
    const tall = layOut("Open from nine to five", 1, 1);
    expect(tall.lines.length).toBeGreaterThan(2);
    expect(tall.lines.join(" ")).toBe("Open from nine to five");
    const crowded = layOut("word ".repeat(60), 0.5, 0.5);
    expect(crowded.lines.length).toBeLessThanOrEqual(8);
    expect(crowded.lineM).toBeGreaterThan(0);
  });
});

describe("a trail", () => {
  const propOf = (id: number, trail: unknown) =>
    createProp(
      bodyOf(id, { trail }, { shape: "sphere", radius: 0.5 }),
      { shape: "sphere", radius: 0.5 },
      createPose(),
    );

  function spread(trails: Trails): number {
    const { geometry } = trails.group.children[0] as Mesh;
    const places = geometry.getAttribute("position") as BufferAttribute;
    const xs = Array.from({ length: places.count }, (_, at) => places.getX(at));
    return Math.max(...xs) - Math.min(...xs);
  }

  it("follows a prop that moves, ends where it was some time ago, and begins again after a jump", () => {
    const trails = new Trails();
    const prop = propOf(1, 1);
    trails.add(prop);
    for (let frame = 0; frame < 120; frame++) {
      prop.position.x += 3 / 60;
      trails.update(1 / 60, new Vector3(0, 0, 10));
    }
    expect(spread(trails)).toBeGreaterThan(2.5);
    expect(spread(trails)).toBeLessThan(3.5);
    prop.position.x += 100;
    trails.restart(1);
    trails.update(1 / 60, new Vector3(0, 0, 10));
    expect(spread(trails)).toBeLessThan(0.5);
    trails.remove(1);
    expect([trails.size, trails.group.children.length]).toEqual([0, 0]);
  });

  it("is drawn for a bounded number of props, and only for those that declare one", () => {
    const trails = new Trails();
    for (let id = 1; id <= TRAILS_MAX + 8; id++) trails.add(propOf(id, 2));
    expect(trails.size).toBe(TRAILS_MAX);
    trails.clear();
    for (const trail of [0, -1, "1", Number.NaN]) trails.add(propOf(1, trail));
    expect(trails.size).toBe(0);
  });
});
