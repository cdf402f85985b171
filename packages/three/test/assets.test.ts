import { expect, it } from "vitest";
import { AssetCache } from "../src/asset-cache.js";
import { type AssetError, Assets, readAssets } from "../src/assets.js";

const DOOR = { name: "assets/door.glb", hash: "0123456789abcdef", bytes: 3, type: "model/gltf-binary" };
const definition = (...assets: unknown[]): unknown => ({ assets });

/** Files of a server by address, and the addresses that were requested. */
function served(files: Record<string, number[]>): { assets: Assets; asked: string[] } {
  const asked: string[] = [];
  const assets = new Assets("https://example.org", async (url) => {
    asked.push(url);
    const file = files[url];
    return file ? new Response(Uint8Array.from(file)) : new Response("", { status: 404 });
  });
  return { assets, asked };
}

it("has no files of a server that lists none, and omits invalid entries", () => {
  expect(readAssets(undefined)).toEqual([]);
  expect(readAssets({})).toEqual([]);
  const hostile = [null, 7, { ...DOOR, hash: "../../secret" }, { ...DOOR, bytes: "3" }, { ...DOOR, name: 1 }];
  expect(readAssets(definition(...hostile, DOOR))).toEqual([DOOR]);
});

it("gets a file by its hash, and stops at the bytes that it may have", async () => {
  const { assets, asked } = served({ "https://example.org/assets/0123456789abcdef": [1, 2, 3] });
  assets.define(definition(DOOR));
  expect(new Uint8Array(await assets.get(assets.find(DOOR.name)!, 3))).toEqual(Uint8Array.of(1, 2, 3));
  expect(asked).toEqual(["https://example.org/assets/0123456789abcdef"]);
  await expect(assets.get(DOOR, 2)).rejects.toThrow(/larger than 2 bytes/);
  expect(asked.length).toBe(1);
  await expect(assets.get({ ...DOOR, bytes: 1 }, 2)).rejects.toThrow(/larger than 2 bytes/);
  await expect(assets.get({ ...DOOR, hash: "ffffffff" }, 9)).rejects.toThrow(
    /door.glb: the server answers 404/,
  );
});

it("creates one value for each file, and frees it when the world no longer has the file", async () => {
  const { assets, asked } = served({ "https://example.org/assets/0123456789abcdef": [1, 2, 3] });
  const released: string[] = [];
  const cache = new AssetCache(
    assets,
    async (entry) => `${(await assets.get(entry, 10)).byteLength} bytes`,
    (value) => released.push(value),
    () => undefined,
  );
  assets.define(definition(DOOR));
  expect(cache.peek(DOOR.name)).toBeUndefined();
  expect(await Promise.all([cache.get(DOOR.name), cache.get(DOOR.name)])).toEqual(["3 bytes", "3 bytes"]);
  expect(cache.peek(DOOR.name)).toBe("3 bytes");
  expect(asked.length).toBe(1);
  cache.define();
  expect(released).toEqual([]);
  assets.define(definition());
  cache.define();
  expect(released).toEqual(["3 bytes"]);
  expect(cache.peek(DOOR.name)).toBeUndefined();
});

it("reports a file that cannot be used once, and tries again with the next definition", async () => {
  const { assets, asked } = served({});
  const reports: string[] = [];
  const cache = new AssetCache<ArrayBuffer>(
    assets,
    (entry) => assets.get(entry, 10),
    () => undefined,
    (error: AssetError) => reports.push(error.message),
  );
  assets.define(definition(DOOR));
  for (const name of [DOOR.name, DOOR.name, "assets/none.glb", "assets/none.glb"]) {
    expect(await cache.get(name)).toBeUndefined();
  }
  expect(reports).toEqual([
    "assets/door.glb: the server answers 404",
    "assets/none.glb: the world has no such file",
  ]);
  cache.define();
  await cache.get(DOOR.name);
  expect(asked.length).toBe(2);
});
