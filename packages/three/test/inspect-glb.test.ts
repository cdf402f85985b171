import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readImageSize } from "../src/models/image-size.js";
import { inspectGlb, MODEL_LIMITS } from "../src/models/inspect-glb.js";
import { loadModel } from "../src/models/load-model.js";
import { describeTriangle, type Gltf, packGlb } from "./glb.js";

/** The file of a triangle with a changed description. */
function changed(change: Gltf): ArrayBuffer {
  const { json, binary } = describeTriangle();
  return packGlb({ json: { ...json, ...change }, binary });
}

describe("a model", () => {
  it("is read with its nodes and animations", async () => {
    const model = await loadModel(packGlb(describeTriangle(["walk"])));
    expect(model.clips.map(({ name }) => name)).toEqual(["walk"]);
    expect(model.isStill).toBe(false);
    expect((await loadModel(packGlb(describeTriangle()))).isStill).toBe(true);
  });

  it.each<[string, Gltf, RegExp]>([
    ["names other files", { buffers: [{ byteLength: 4, uri: "http://example.org/a.bin" }] }, /other files/],
    ["names pictures elsewhere", { images: [{ uri: "data:image/png;base64,AA" }] }, /other files/],
    ["wants a decoder", { extensionsUsed: ["KHR_draco_mesh_compression"] }, /draco.*not supported/],
    ["requires an unknown extension", { extensionsRequired: ["EXT_unheard_of"] }, /EXT_unheard_of/],
    ["has too many nodes", { nodes: Array.from({ length: MODEL_LIMITS.nodes + 1 }, () => ({})) }, /nodes/],
    ["hangs on itself", { nodes: [{ children: [0] }] }, /not a tree/],
    ["has a node with two parents", { nodes: [{ children: [2] }, { children: [2] }, {}] }, /two parents/],
    ["unpacks to too much", { accessors: [{ count: 1e9, type: "MAT4" }] }, /numbers/],
    ["has a negative count", { accessors: [{ count: -1, type: "VEC3" }] }, /invalid/],
    ["has too many textures", { textures: Array.from({ length: 33 }, () => ({})) }, /textures/],
    ["has a picture that is none", { images: [{ bufferView: 0 }] }, /PNG, JPEG or WebP/],
    ["shows nothing", { scenes: [] }, /shows nothing/],
    ["has nodes that are none", { nodes: [7] }, /nodes is none/],
  ])("that %s is refused, with the reason", (_, change, reason) => {
    expect(() => inspectGlb(changed(change))).toThrow(reason);
  });

  it("shown by many of its nodes counts as often", () => {
    const accessors = [{ count: 300_000, type: "SCALAR" }];
    const meshes = [{ primitives: [{ attributes: {}, indices: 0 }] }];
    const nodes = (count: number): Gltf[] => Array.from({ length: count }, () => ({ mesh: 0 }));
    inspectGlb(changed({ accessors, meshes, nodes: nodes(5) }));
    expect(() => inspectGlb(changed({ accessors, meshes, nodes: nodes(6) }))).toThrow(/triangles/);
  });

  it("of any bytes is rejected by an error only", () => {
    const whole = new Uint8Array(packGlb(describeTriangle(["walk"])));
    fc.assert(
      fc.property(
        fc.nat(whole.length),
        fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255))),
        (end, edits) => {
          const bytes = whole.slice();
          for (const [at, byte] of edits) bytes[at] = byte;
          try {
            inspectGlb(bytes.slice(0, end).buffer);
          } catch (error) {
            expect(error).toBeInstanceOf(Error);
            expect(String(error)).not.toMatch(/undefined|not a function|out of bounds/i);
          }
        },
      ),
    );
  });
});

describe("the size of a picture", () => {
  const bytes = (...hex: string[]): Uint8Array =>
    Uint8Array.from(Buffer.from(hex.join("").replaceAll(" ", ""), "hex"));

  it("is read of a PNG, a JPEG and all three kinds of WebP", () => {
    expect(readImageSize(bytes("89504e47 0d0a1a0a 0000000d 49484452 00000280 000001e0"))).toEqual([640, 480]);
    expect(readImageSize(bytes("ffd8 ffe0 0004 0000 ffc0 0011 08 01e0 0280 03"))).toEqual([640, 480]);
    const webp = "52494646 00000000 57454250";
    expect(readImageSize(bytes(webp, "56503820 00000000 000000 9d012a 8002 e001"))).toEqual([640, 480]);
    expect(readImageSize(bytes(webp, "56503858 0a000000 00000000 7f0200 df0100"))).toEqual([640, 480]);
    const bits = 639 | (479 << 14);
    const word = Buffer.alloc(4);
    word.writeUInt32LE(bits);
    expect(readImageSize(bytes(webp, "5650384c 00000000 2f", word.toString("hex"), "0000000000"))).toEqual([
      640, 480,
    ]);
  });

  it("is not invented for invalid images", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (noise) => {
        const size = readImageSize(Uint8Array.from([0xff, 0xd8, ...noise]));
        expect(size === undefined || size.every((side) => side >= 0)).toBe(true);
      }),
    );
  });
});
