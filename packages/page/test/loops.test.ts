import { describe, expect, it } from "vitest";
import { Loops, readLoop } from "../src/loops.js";

describe("a loop", () => {
  it("is read from a value of any kind, within its bounds", () => {
    expect(readLoop({ loop: "assets/theme.ogg" })).toEqual({
      file: "assets/theme.ogg",
      at: undefined,
      on: undefined,
      volume: 1,
      pitch: 1,
      fadeS: 0,
    });
    expect(readLoop({ loop: "a.ogg", at: [1, 2, 3], on: 7, volume: 9, pitch: 0, fade: 99 })).toEqual({
      file: "a.ogg",
      at: [1, 2, 3],
      on: 7,
      volume: 1,
      pitch: 0.25,
      fadeS: 10,
    });
    for (const odd of [undefined, 3, "x", [], {}, { loop: 3 }, { loop: "x".repeat(201) }]) {
      expect(readLoop(odd)).toBeUndefined();
    }
  });

  it("waits until sounds are audible, and is set only once", async () => {
    const asked: string[] = [];
    const loops = new Loops({
      output: () => undefined,
      recording: async (file) => {
        asked.push(file);
        return undefined;
      },
    });
    expect(loops.set("@a", { loop: "a.ogg" })).toBe(true);
    loops.update(() => undefined);
    expect(asked).toEqual([]);
    expect(loops.set("@a", undefined)).toBe(true);
    expect(loops.set("@a", undefined)).toBe(false);
    expect(loops.set("@b", 3)).toBe(false);
  });
});
