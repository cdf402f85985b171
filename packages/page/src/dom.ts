/** Copies text to the clipboard. Returns false if the browser does not allow it. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Calls `leave` for Escape in a line of text. While an input method converts a word, Enter and Escape belong to the
 * conversion: they neither leave the line nor send it.
 */
export function onEscape(line: HTMLInputElement, leave: (event: KeyboardEvent) => void): void {
  line.addEventListener("keydown", (event) => {
    // Safari marks the key that ends a conversion only by the code 229.
    const isConverting = event.isComposing || event.keyCode === 229;
    if (isConverting && event.key === "Enter") event.preventDefault();
    if (!isConverting && event.key === "Escape") leave(event);
  });
}

/** A colour as CSS writes it. */
export function cssColor(color: number): string {
  return `#${(color & 0xffffff).toString(16).padStart(6, "0")}`;
}
