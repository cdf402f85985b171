/** The keys that the user moved: a pressed key's code, and the code of the key whose function the pressed key took over. */
export type Keymap = ReadonlyMap<string, string>;

/** No key is moved. */
export const UNMOVED: Keymap = new Map();

const KEYS_MAX = 60;
const CODE =
  /^(?:Key[A-Z]|Digit[0-9]|Arrow(?:Up|Down|Left|Right)|Space|Shift(?:Left|Right)|Comma|Period|Page(?:Up|Down)|Semicolon|Quote|Bracket(?:Left|Right)|Minus|Equal|Insert|Delete|Home|End|Numpad[0-9])$/;

/** Whether the user may give a function to a key. Enter, Escape and ? always have their own. */
export function isMovable(code: string): boolean {
  return CODE.test(code);
}

/** Parses a stored keymap; invalid entries are omitted. */
export function readKeymap(stored: unknown): Keymap {
  if (stored === null || typeof stored !== "object") return new Map();
  const entries = Object.entries(stored).slice(0, KEYS_MAX);
  const valid = entries.filter(
    (entry): entry is [string, string] =>
      isMovable(entry[0]) && typeof entry[1] === "string" && isMovable(entry[1]),
  );
  return new Map(valid);
}

/** The key that has the function of the key `code`. */
export function keyFor(keymap: Keymap, code: string): string {
  for (const [pressed, meant] of keymap) {
    if (meant === code) return pressed;
  }
  return code;
}

/** Gives the function of the key `code` to the key `pressed`. The two keys swap, so that no function is lost. */
export function moveKey(keymap: Keymap, code: string, pressed: string): Keymap {
  const moved = new Map(keymap);
  const before = keyFor(keymap, code);
  const replaced = keymap.get(pressed) ?? pressed;
  moved.set(pressed, code);
  moved.set(before, replaced);
  for (const [from, to] of [...moved]) {
    if (from === to) moved.delete(from);
  }
  return moved;
}

/** The code of the key of an action (`f`, `1`); undefined for a button of the mouse. */
export function codeOf(key: string): string | undefined {
  if (/^[a-z]$/.test(key)) return `Key${key.toUpperCase()}`;
  return /^[0-9]$/.test(key) ? `Digit${key}` : undefined;
}

/** The label of a key. */
export function codeName(code: string): string {
  const name = code.replace(/^(?:Key|Digit)|(?<=^Shift)(?:Left|Right)$/g, "");
  return name.replace(/(?<=[a-z])(?=[A-Z0-9])/g, " ");
}
