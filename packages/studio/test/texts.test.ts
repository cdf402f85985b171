/**
 * The studio in a browser that blocks site data, and its fields under an input method.
 *
 * @vitest-environment jsdom
 */
import { expect, it, vi } from "vitest";
import { browserTexts, tabTexts } from "../src/storage.js";
import { StageBar } from "../src/world/stage-bar.js";
import { ValueEditor } from "../src/world/value-editor.js";

it("keeps texts until the page closes if the browser blocks site data", () => {
  for (const name of ["localStorage", "sessionStorage"]) {
    vi.spyOn(window, name as "localStorage", "get").mockImplementation(() => {
      throw new DOMException("The operation is insecure.", "SecurityError");
    });
  }
  for (const texts of [browserTexts, tabTexts]) {
    expect(texts.getItem("token")).toBe(null);
    texts.setItem("token", "a");
    expect(texts.getItem("token")).toBe("a");
  }
  const nothing = (): void => undefined;
  const listener = { layers: vi.fn(), gizmo: nothing, frame: nothing, follow: nothing };
  const bar = new StageBar(false, listener);
  bar.element.querySelector("button")!.click();
  expect(listener.layers).toHaveBeenCalledWith({ shapes: true, relations: true, grid: false });
  expect(new StageBar(false, listener).layers.shapes, "the next tab has the choice").toBe(true);
  vi.restoreAllMocks();
});

it.each([
  { isComposing: true },
  { keyCode: 229 },
])("stores no half word of a conversion (%o)", async (conversion) => {
  const save = vi.fn(async () => undefined);
  const editor = new ValueEditor("name", save, (error) => expect.fail(String(error)));
  document.body.append(editor.element);
  editor.set("Ann");
  (editor.element.querySelector("button") ?? (editor.element as HTMLButtonElement)).click();
  const input = document.querySelector("input")!;
  input.value = "にほ";
  const press = (key: string, init: KeyboardEventInit): boolean =>
    input.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true, bubbles: true, ...init }));
  press("Enter", conversion);
  press("Escape", conversion);
  expect([save.mock.calls.length, input.isConnected]).toEqual([0, true]);
  press("Enter", {});
  expect(save).toHaveBeenCalledWith("にほ");
});
