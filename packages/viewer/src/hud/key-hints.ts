import type { Binding } from "../actions.js";
import { element } from "../dom.js";
import { words } from "../words.js";

/** The key of an action as it stands on a keyboard, or what is done with the mouse. */
export function keyName(key: string): string {
  if (key === "left") return words.keys.left;
  if (key === "right") return words.keys.right;
  return key.toUpperCase();
}

/** What would be done now by which key, as one line. */
export function promptFor(offers: readonly Binding[]): string {
  return offers
    .flatMap(({ key, label }) => (key === undefined ? [] : [words.prompt(keyName(key), label)]))
    .join(" · ");
}

/** The line of keys at the lower edge: how to get about, and what can be done in this world. */
export function writeKeyHints(bindings: readonly Binding[]): void {
  const { shift, space, enter } = words.keys;
  const hints: (readonly [readonly string[], string])[] = [
    [["W", "A", "S", "D"], words.walk],
    [[shift], words.run],
    [[space], words.jumpHint],
  ];
  for (const { key, label, charge } of bindings) {
    if (key !== undefined) hints.push([[charge ? words.hold(keyName(key)) : keyName(key)], label]);
  }
  hints.push([[enter], words.chatHint], [[], words.lookHint]);
  element("hints", HTMLElement).replaceChildren(
    ...hints.map(([keys, what]) => {
      const hint = document.createElement("span");
      for (const key of keys) {
        const cap = document.createElement("kbd");
        cap.textContent = key;
        hint.append(cap);
      }
      hint.append(` ${what}`);
      return hint;
    }),
  );
}
