/** Copies text to the clipboard. Returns false if the browser does not allow it. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** Whether a key belongs to an input method that converts a word. Enter and Escape then neither leave nor send a line. */
export function isConverting({ isComposing, keyCode }: KeyboardEvent): boolean {
  // Safari marks the key that ends a conversion only by the code 229.
  return isComposing || keyCode === 229;
}

/** Calls `leave` for Escape in a line of text, unless the key belongs to an input method. */
export function onEscape(line: HTMLInputElement, leave: (event: KeyboardEvent) => void): void {
  line.addEventListener("keydown", (event) => {
    if (isConverting(event) && event.key === "Enter") event.preventDefault();
    if (!isConverting(event) && event.key === "Escape") leave(event);
  });
}

/** A colour as CSS writes it. */
export function cssColor(color: number): string {
  return `#${(color & 0xffffff).toString(16).padStart(6, "0")}`;
}
