/**
 * The line of the chat, and the keys that leave or send it.
 *
 * @vitest-environment jsdom
 */
import { expect, it } from "vitest";
import { ChatPanel } from "../src/chat/chat-panel.js";

function make<K extends keyof HTMLElementTagNameMap>(tag: K): HTMLElementTagNameMap[K] {
  return document.createElement(tag);
}

it.each([
  { isComposing: true },
  { keyCode: 229 },
])("leaves Enter and Escape to the conversion of an input method (%o)", (conversion) => {
  const [panel, log, form, input] = [make("div"), make("div"), make("form"), make("input")];
  form.append(input);
  panel.append(log, form);
  document.body.append(panel);
  const told: string[] = [];
  new ChatPanel(
    { panel, log, form, input },
    (text) => told.push(text),
    () => told.push("done"),
  );
  const press = (key: string, init: KeyboardEventInit): KeyboardEvent => {
    const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...init });
    input.dispatchEvent(event);
    return event;
  };
  input.value = "にほ";
  press("Escape", conversion);
  expect(press("Enter", conversion).defaultPrevented, "the half word would be sent").toBe(true);
  expect([told, input.value]).toEqual([[], "にほ"]);
  expect(press("Enter", {}).defaultPrevented).toBe(false);
  press("Escape", {});
  expect(told).toEqual(["done"]);
});
