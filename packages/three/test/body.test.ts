import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readColor } from "../../nowcast/src/world/describe/look.js";
import { readForm } from "../../nowcast/src/world/describe/shape.js";
import { type DrawnEntity, type DrawnKind, describeBody, isShown } from "../src/look/body.js";
import { createGeometry } from "../src/scene/form-geometry.js";

const CRATE: DrawnKind = {
  name: "crate",
  body: { motion: "dynamic", shape: "box", size: [1, 2, 3] },
  walker: undefined,
  look: undefined,
};

function entity(kind: Partial<DrawnKind>, attributes: Record<string, unknown> = {}): DrawnEntity {
  return {
    id: 1,
    kind: { ...CRATE, ...kind },
    scale: [1, 1, 1],
    parent: undefined,
    attributes,
  };
}

function looks(kind: Partial<DrawnKind>, attributes: Record<string, unknown> = {}) {
  return describeBody(entity(kind, attributes)).appearance;
}

describe("the form of an entity", () => {
  it("has the form of its body if its look has none", () => {
    expect(looks({})?.form).toEqual({ shape: "box", size: [1, 2, 3] });
    expect(looks({ look: { color: "#ff8000" } })).toMatchObject({
      form: { shape: "box", size: [1, 2, 3] },
      color: 0xff8000,
      opacity: 1,
      glow: 0,
    });
  });

  it("has the form of its look, with missing fields from the body", () => {
    expect(looks({ look: { shape: "sphere", radius: 0.4 } })?.form).toEqual({ shape: "sphere", radius: 0.4 });
    expect(looks({ look: { shape: "box", color: "#fff" } })?.form).toEqual({ shape: "box", size: [1, 2, 3] });
    expect(looks({ look: { shape: "sphere" } })?.form).toEqual({ shape: "box", size: [1, 2, 3] });
  });

  it("is overridden by attributes with the names of a look's fields", () => {
    const look = { shape: "sphere", radius: 1, color: "#111111", label: "lamp" };
    expect(looks({ look }, { color: "#f00", opacity: 0.3, glow: 2, label: "lit", radius: 3 })).toEqual({
      form: { shape: "sphere", radius: 3 },
      color: 0xff0000,
      opacity: 0.3,
      glow: 2,
      label: "lit",
      sign: "",
      trail: 0,
    });
    expect(looks({ look }, { hidden: true })).toBeUndefined();
    expect(looks({ look }, { hidden: false, color: "no colour", radius: null })).toMatchObject({
      color: 0x111111,
      form: { shape: "sphere", radius: 1 },
    });
  });

  it("is a person if input moves it, unless its look has a shape", () => {
    const walker = { height: 2.5, radius: 0.25, walk_speed: 5, run_speed: 9 };
    const person = describeBody(entity({ body: undefined, walker, look: { model: "person" } }));
    expect(person.appearance?.form).toEqual({ shape: "person", height: 2.5 });
    expect(person.gait).toEqual({ walkSpeed: 5, runSpeed: 9, acceleration: 42 });
    expect(person).toMatchObject({ isSolid: true, isFixed: false });
    const robot = looks({ body: undefined, walker, look: { shape: "box" } });
    expect(robot?.form).toEqual({ shape: "box", size: [0.5, 2.5, 0.5] });
  });

  it("is nothing for sensors and for entities with neither look nor body", () => {
    const sensor = { body: { ...CRATE.body, motion: "sensor" } };
    expect(looks(sensor)).toBeUndefined();
    expect(looks({ body: undefined })).toBeUndefined();
    const seen = describeBody(entity({ ...sensor, look: { opacity: 0.2 } }));
    expect(seen).toMatchObject({ isSolid: false, isFixed: true, appearance: { opacity: 0.2 } });
  });

  it("moves if it has no body, because rules may move it", () => {
    const marker = describeBody(entity({ body: undefined, look: { shape: "sphere", radius: 0.6 } }));
    expect(marker).toMatchObject({ isSolid: false, isFixed: false });
  });

  it("may be a label alone", () => {
    expect(looks({ body: undefined, look: { label: "This way" } })).toMatchObject({
      form: undefined,
      label: "This way",
    });
  });

  it("knows a held item", () => {
    expect(describeBody(entity({}, { holding: 7 })).holding).toBe(7);
    expect(describeBody(entity({}, { holding: null })).holding).toBeUndefined();
  });

  it("is drawn again when an attribute of its look changes", () => {
    expect(isShown(["health", "color"])).toBe(true);
    expect(isShown(["health"])).toBe(false);
  });
});

describe("forms", () => {
  const CUBE = [0, 1].flatMap((x) => [0, 1].flatMap((y) => [0, 1].map((z) => [x, y, z])));

  it("of every shape become triangles with normals", () => {
    const forms = [
      { shape: "box", size: [1, 2, 3] },
      { shape: "sphere", radius: 1 },
      { shape: "capsule", radius: 0.3, height: 2 },
      { shape: "cylinder", radius: 1, height: 2 },
      { shape: "cone", radius: 1, height: 2 },
      { shape: "hull", points: CUBE },
      { shape: "mesh", vertices: CUBE.slice(0, 4), triangles: [1, 2, 3, 2, 3, 4] },
      { shape: "heights", heights: [0, 1, 0, 0, 2, 0], columns: 3, size: [4, 1, 6] },
      {
        shape: "compound",
        parts: [
          { shape: "sphere", radius: 1, at: [0, 2, 0] },
          { shape: "box", size: [1, 1, 1] },
        ],
      },
    ];
    for (const fields of forms) {
      const form = readForm(fields);
      expect(form, fields.shape).toBeDefined();
      const geometry = createGeometry(form!);
      const { count } = geometry.getAttribute("position");
      expect(count, fields.shape).toBeGreaterThan(3);
      expect(geometry.getAttribute("normal").count, fields.shape).toBe(count);
      for (const value of geometry.getAttribute("position").array) expect(Number.isFinite(value)).toBe(true);
    }
  });

  it("count the corners of meshes from 1 on, and keep to those there are", () => {
    const vertices = CUBE.slice(0, 3);
    expect(readForm({ shape: "mesh", vertices, triangles: [1, 2, 3] })).toMatchObject({
      triangles: [0, 1, 2],
    });
    expect(readForm({ shape: "mesh", vertices, triangles: [0, 1, 2] })).toBeUndefined();
    expect(readForm({ shape: "mesh", vertices, triangles: [1, 2, 4] })).toBeUndefined();
    expect(readForm({ shape: "mesh", vertices, triangles: [1, 2] })).toBeUndefined();
  });

  it("beyond the engine's bounds are none", () => {
    const list = (length: number) => Array.from({ length }, () => [0, 0, 0]);
    expect(readForm({ shape: "sphere", radius: 1e9 })).toBeUndefined();
    expect(readForm({ shape: "box", size: [1, Number.NaN, 1] })).toBeUndefined();
    expect(readForm({ shape: "hull", points: list(300) })).toBeUndefined();
    expect(readForm({ shape: "heights", heights: [1, 2, 3], columns: 2, size: [1, 1, 1] })).toBeUndefined();
    expect(readForm({ shape: "compound", parts: [{ shape: "compound", parts: [] }] })).toBeUndefined();
  });
});

it("describes any server data without an error, and never with an invalid number", () => {
  const anything = fc.dictionary(
    fc.constantFrom(
      "shape",
      "size",
      "radius",
      "height",
      "color",
      "opacity",
      "glow",
      "label",
      "hidden",
      "parts",
      "points",
      "motion",
    ),
    fc.oneof(
      fc.anything(),
      fc.constantFrom("box", "sphere", "compound", "sensor"),
      fc.array(fc.double(), { maxLength: 4 }),
    ),
  );
  fc.assert(
    fc.property(
      anything,
      fc.option(anything),
      fc.option(anything),
      anything,
      (look, body, walker, attributes) => {
        const found = looks({ look, body: body ?? undefined, walker: walker ?? undefined }, attributes);
        if (!found) return;
        expect(found.opacity).toBeGreaterThanOrEqual(0);
        expect(found.opacity).toBeLessThanOrEqual(1);
        expect(found.glow).toBeGreaterThanOrEqual(0);
        if (found.form?.shape === "sphere") expect(found.form.radius).toBeGreaterThan(0);
      },
    ),
  );
});

it("reads colours of three and of six digits", () => {
  expect(readColor("#e67e22")).toBe(0xe67e22);
  expect(readColor("#F0a")).toBe(0xff00aa);
  expect(readColor(0x123456)).toBe(0x123456);
  for (const none of ["red", "#12", "#1234567", "url(x)", -1, 0x1000000, null])
    expect(readColor(none)).toBeUndefined();
});

it("uses models and textures of the world's folder, with size and animation from attributes", () => {
  const look = {
    model: "assets/door.glb",
    scale: [1, 2, 3],
    animation: "open",
    texture: "assets/oak.png",
    sea: 2,
  };
  const kind: DrawnKind = { name: "door", body: undefined, walker: undefined, look };
  const described = (attributes: Record<string, unknown>) =>
    describeBody({ id: 1, kind, scale: [1, 1, 1], parent: undefined, attributes }).appearance;
  expect(described({})).toMatchObject({
    model: { name: "assets/door.glb", scale: [1, 2, 3], animation: "open" },
    texture: "assets/oak.png",
    sea: 2,
  });
  expect(described({ animation: "close", scale: 2 })?.model).toMatchObject({
    scale: [2, 2, 2],
    animation: "close",
  });
  // A form is shown until the model is loaded, even without a declared form.
  expect(described({})?.form).toBeDefined();
  // A file outside of the world's folders is not drawn at all.
  expect(described({ model: "https://example.org/door.glb" })).toBeUndefined();
});
