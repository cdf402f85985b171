/** Small models for tests, as the bytes of `.glb` files. */

export type Gltf = Record<string, unknown>;

/** A triangle, 1 m high; with `clips` its node swings in each of these animations for a second. */
export function describeTriangle(clips: readonly string[] = []): { json: Gltf; binary: Uint8Array } {
  const positions = new Float32Array([0, 0, 0, 1, 0, 0, 0, 1, 0]);
  const times = new Float32Array([0, 1]);
  const turns = new Float32Array([0, 0, 0, 1, 0, 1, 0, 0]);
  const binary = new Uint8Array(36 + 8 + 32);
  binary.set(new Uint8Array(positions.buffer), 0);
  binary.set(new Uint8Array(times.buffer), 36);
  binary.set(new Uint8Array(turns.buffer), 44);
  const json: Gltf = {
    asset: { version: "2.0" },
    scene: 0,
    scenes: [{ nodes: [0] }],
    nodes: [{ name: "leaf", mesh: 0 }],
    meshes: [{ primitives: [{ attributes: { POSITION: 0 } }] }],
    buffers: [{ byteLength: binary.length }],
    bufferViews: [
      { buffer: 0, byteOffset: 0, byteLength: 36 },
      { buffer: 0, byteOffset: 36, byteLength: 8 },
      { buffer: 0, byteOffset: 44, byteLength: 32 },
    ],
    accessors: [
      { bufferView: 0, componentType: 5126, count: 3, type: "VEC3", min: [0, 0, 0], max: [1, 1, 0] },
      { bufferView: 1, componentType: 5126, count: 2, type: "SCALAR", min: [0], max: [1] },
      { bufferView: 2, componentType: 5126, count: 2, type: "VEC4" },
    ],
    ...(clips.length === 0
      ? {}
      : {
          animations: clips.map((name) => ({
            name,
            samplers: [{ input: 1, output: 2 }],
            channels: [{ sampler: 0, target: { node: 0, path: "rotation" } }],
          })),
        }),
  };
  return { json, binary };
}

export function packGlb({ json, binary }: { json: Gltf; binary: Uint8Array }): ArrayBuffer {
  const text = new TextEncoder().encode(JSON.stringify(json));
  const textBytes = Math.ceil(text.length / 4) * 4;
  const binaryBytes = Math.ceil(binary.length / 4) * 4;
  const file = new Uint8Array(12 + 8 + textBytes + 8 + binaryBytes).fill(0x20);
  const view = new DataView(file.buffer);
  const words: readonly (readonly [number, number])[] = [
    [0, 0x46546c67],
    [4, 2],
    [8, file.length],
    [12, textBytes],
    [16, 0x4e4f534a],
    [20 + textBytes, binaryBytes],
    [24 + textBytes, 0x004e4942],
  ];
  for (const [at, word] of words) view.setUint32(at, word, true);
  file.set(text, 20);
  file.set(binary, 28 + textBytes);
  return file.buffer;
}
