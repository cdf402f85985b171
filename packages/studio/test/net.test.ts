import { describe, expect, it } from "vitest";
import { namesOf } from "../src/code/luau.js";
import { OpenFiles } from "../src/code/open-files.js";
import { LossMeter } from "../src/net/loss-meter.js";

describe("the meter of lost packets", () => {
  it("the_share_is_of_the_last_five_seconds", () => {
    const meter = new LossMeter();
    expect(meter.add({ packets: 0, lost: 0 })).toBeUndefined();
    expect(meter.add({ packets: 100, lost: 5 })).toBeCloseTo(0.05);
    let share: number | undefined;
    for (let count = 2; count < 20; count += 1) share = meter.add({ packets: count * 100, lost: 5 });
    expect(share).toBe(0);
  });
});

describe("the opened files", () => {
  const world = { path: "world.luau", text: "a", revision: "1" };

  it("only_changed_texts_are_checked_in_place_of_the_folder's", () => {
    const files = new OpenFiles();
    files.open(world);
    files.open({ path: "lib.luau", text: "b", revision: "1" }).text = "c";
    expect(files.changed()).toEqual({ "lib.luau": "c" });
    files.stored("lib.luau", "c", "2");
    expect(files.hasChanges).toBe(false);
  });

  it("another_revision_is_read_again_unless_the_user_changed_the_text", () => {
    const files = new OpenFiles();
    const file = files.open(world);
    expect(files.listed("world.luau", "1")).toBe(false);
    expect(files.listed("world.luau", "2")).toBe(true);
    file.text = "mine";
    expect(files.listed("world.luau", "2")).toBe(false);
    expect(file.conflict).toBe("2");
  });
});

describe("completion", () => {
  it("offers_the_fields_functions_and_types_of_the_world's_types", () => {
    const names = namesOf("type Entity = { id: number, tags: { string }? }\nfunction spawn(kind: string)");
    expect(names).toEqual(expect.arrayContaining(["Entity", "id", "tags", "spawn", "kind"]));
  });
});
