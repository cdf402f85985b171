import { button } from "./dom.js";
import type { KeptTexts } from "./storage.js";

const STORED = "nowcast-studio-theme";
type Theme = "dark" | "light";

/** A button that switches between dark and light. Without a choice, the system's setting applies. */
export function makeThemeSwitch(storage: KeptTexts): HTMLButtonElement {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const stored = storage.getItem(STORED);
  let chosen: Theme | undefined = stored === "dark" || stored === "light" ? stored : undefined;
  const made = button("", () => {
    chosen = current() === "dark" ? "light" : "dark";
    storage.setItem(STORED, chosen);
    apply();
  });
  const current = (): Theme => chosen ?? (system.matches ? "dark" : "light");
  const apply = (): void => {
    const theme = current();
    document.documentElement.dataset["theme"] = theme;
    made.textContent = theme === "dark" ? "☀" : "☾";
    made.setAttribute("aria-label", theme === "dark" ? "Use light colours" : "Use dark colours");
    made.title = made.getAttribute("aria-label")!;
  };
  system.addEventListener("change", apply);
  apply();
  return made;
}
