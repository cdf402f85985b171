/** The boxes of a page's controls and texts, for tests that none lies under another one. */
import type { Page } from "playwright-core";

export interface Layout {
  readonly shown: number;
  /** Pairs of shown parts that overlap. */
  readonly overlaps: readonly string[];
  /** Shown parts that are partly outside of the window. */
  readonly cut: readonly string[];
}

/**
 * The shown parts of a page, also in shadow roots, and their faults. Parts with `visibility: hidden` or without opacity count
 * as not shown.
 */
export function layoutOf(page: Page, selectors: readonly string[]): Promise<Layout> {
  return page.evaluate((wanted) => {
    const options = { checkVisibilityCSS: true, checkOpacity: true };
    const shadows = [...document.querySelectorAll("*")].flatMap(({ shadowRoot }) => shadowRoot ?? []);
    const roots: ParentNode[] = [document, ...shadows];
    const parts = wanted.flatMap((selector) =>
      roots
        .flatMap((root) => [...root.querySelectorAll(selector)])
        .filter((found) => found.checkVisibility(options))
        .map((found) => ({
          name: `${selector} “${(found.getAttribute("aria-label") ?? found.textContent ?? "").trim().slice(0, 24)}”`,
          box: found.getBoundingClientRect(),
        }))
        .filter(({ box }) => box.width > 0 && box.height > 0),
    );
    const overlaps = parts.flatMap(({ name, box }, i) =>
      parts
        .slice(i + 1)
        .filter(
          ({ box: other }) =>
            Math.min(box.right, other.right) - Math.max(box.left, other.left) > 1 &&
            Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top) > 1,
        )
        .map((other) => `${name} and ${other.name}`),
    );
    const cut = parts
      .filter(
        ({ box }) =>
          box.left < 0 || box.top < 0 || box.right > innerWidth + 1 || box.bottom > innerHeight + 1,
      )
      .map(({ name }) => name);
    return { shown: parts.length, overlaps, cut };
  }, selectors);
}
