import { describe, expect, it } from "vitest";
import type { ActionSource } from "../../nowcast/src/world/describe/binding.js";
import { isOwnPlace, PRESS_ACTION, readPanels } from "../src/ui/panels.js";

function declared(...panels: unknown[]): readonly ActionSource[] {
  return [
    { name: "kick", arguments: [], hint: { key: "f" } },
    { name: PRESS_ACTION, arguments: [], hint: { ui: panels } },
  ];
}

describe("panels of a world", () => {
  it("are read from the definition", () => {
    const bar = { type: "bar", name: "health", place: "@bbbb", max: 50, color: "#d8433b" };
    const buy = { type: "button", name: "buy", place: "@cccc", text: "Buy", press: true };
    const [panel] = readPanels(
      declared({ name: "hud", at: "top_left", title: "You", open: true, place: "@aaaa", parts: [bar, buy] }),
    );
    expect(panel).toMatchObject({ name: "hud", at: "top_left", title: "You", isOpen: true, place: "@aaaa" });
    expect(panel?.parts).toEqual([
      {
        type: "bar",
        name: "health",
        place: "@bbbb",
        text: "",
        label: "",
        color: 0xd8433b,
        max: 50,
        isPressable: false,
      },
      {
        type: "button",
        name: "buy",
        place: "@cccc",
        text: "Buy",
        label: "",
        color: undefined,
        max: 1,
        isPressable: true,
      },
    ]);
  });

  it("of other shapes are passed over", () => {
    expect(readPanels([])).toEqual([]);
    expect(readPanels(declared(undefined, 3, {}, { name: "x", at: "nowhere", place: "@a" }))).toEqual([]);
    const parts = [{ type: "video", name: "v", place: "@v" }, { type: "text" }, null];
    const [panel] = readPanels(declared({ name: "x", at: "left", place: "@a", parts }));
    expect(panel).toMatchObject({ title: "", isOpen: false, parts: [] });
    const many = Array.from({ length: 99 }, (_, index) => ({
      name: `p${index}`,
      at: "left",
      place: `@${index}`,
    }));
    expect(readPanels(declared(...many))).toHaveLength(32);
  });

  it("have places that are not lines of the list", () => {
    expect([isOwnPlace("@aaaa"), isOwnPlace("score")]).toEqual([true, false]);
  });
});
