import { make } from "./dom.js";

/** Rows above and below the window that are kept, so that a quick scroll shows no gap. */
const OVERSCAN = 8;
/** A press that moves farther than this is no click. */
const DRAG_PX = 6;
/** Browsers limit the height of an element, so a longer list is scrolled in proportion. */
const HEIGHT_PX_MAX = 8_000_000;

export interface VisibleRange {
  readonly first: number;
  /** The index after the last row. */
  readonly end: number;
  /** The offset of the first row within the scrolled content, in pixels. */
  readonly topPx: number;
}

/** The height of the scrolled content. */
export function contentHeight(count: number, rowPx: number): number {
  return Math.min(count * rowPx, HEIGHT_PX_MAX);
}

/** The rows to draw at a scroll position. */
export function visibleRange(count: number, rowPx: number, scrollPx: number, heightPx: number): VisibleRange {
  const contentPx = contentHeight(count, rowPx);
  const scrollMaxPx = Math.max(0, contentPx - heightPx);
  const at = Math.min(Math.max(0, scrollPx), scrollMaxPx);
  // Without compression, this is the scroll position itself.
  const share = scrollMaxPx === 0 ? 0 : at / scrollMaxPx;
  const offsetPx = share * Math.max(0, count * rowPx - heightPx);
  const first = Math.max(0, Math.floor(offsetPx / rowPx) - OVERSCAN);
  const end = Math.min(count, Math.ceil((offsetPx + heightPx) / rowPx) + OVERSCAN);
  return { first, end, topPx: at - (offsetPx - first * rowPx) };
}

/** The scroll position at which a row is visible; the current position if it is visible already. */
export function scrollTo(
  index: number,
  count: number,
  rowPx: number,
  scrollPx: number,
  heightPx: number,
): number {
  const scrollMaxPx = Math.max(0, contentHeight(count, rowPx) - heightPx);
  const restPx = Math.max(0, count * rowPx - heightPx);
  const offsetPx = scrollMaxPx === 0 ? 0 : (Math.min(scrollPx, scrollMaxPx) / scrollMaxPx) * restPx;
  const wantedPx = Math.min(Math.max(offsetPx, (index + 1) * rowPx - heightPx), index * rowPx);
  if (wantedPx === offsetPx) return scrollPx;
  return restPx === 0 ? 0 : (wantedPx / restPx) * scrollMaxPx;
}

/** A row's content and state for assistive programs. */
export interface ListRow {
  readonly id: string;
  readonly children: readonly (Node | string)[];
  readonly className?: string | undefined;
  readonly level?: number | undefined;
  readonly expanded?: boolean | undefined;
  readonly selected?: boolean | undefined;
}

export interface ListSource {
  readonly count: number;
  row(index: number): ListRow;
  /** The rows that are drawn now, so that missing ones can be loaded. */
  visible(first: number, end: number): void;
  /** Enter or a click on the row. */
  activate(index: number): void;
  /** The keys Right (`true`) and Left (`false`). Returns the row that becomes active. */
  expand?(index: number, open: boolean): number;
}

function rowOf(target: EventTarget | null): HTMLElement | undefined {
  return target instanceof Element ? (target.closest<HTMLElement>(".list-row") ?? undefined) : undefined;
}

/** A scrolled list that draws only the visible rows. One tab stop; the arrow keys move the active row. */
export class VirtualList {
  readonly element: HTMLElement;
  readonly #source: ListSource;
  readonly #rowPx: number;
  readonly #spacer = make("div", { class: "list-spacer", role: "presentation" });
  readonly #window = make("div", { class: "list-window", role: "presentation" });
  #rows: ReadonlyMap<string, HTMLElement> = new Map();
  #pressed = { id: "", x: 0, y: 0 };
  #active = 0;
  #frame = 0;

  constructor(label: string, rowPx: number, source: ListSource, role: "tree" | "listbox" = "tree") {
    this.#source = source;
    this.#rowPx = rowPx;
    this.element = make("div", { class: "list", role, tabindex: "0", "aria-label": label }, this.#spacer);
    this.#spacer.append(this.#window);
    this.element.addEventListener("scroll", () => this.refresh(), { passive: true });
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.element.addEventListener("focus", () => this.refresh());
    // Rows move and are drawn again while a button is down, and a browser then sends no click: the row that was pressed counts.
    this.element.addEventListener("pointerdown", ({ target, clientX, clientY }) => {
      this.#pressed = { id: rowOf(target)?.id ?? "", x: clientX, y: clientY };
    });
    this.element.addEventListener("pointerup", ({ clientX, clientY }) => {
      const { id, x, y } = this.#pressed;
      if (Math.hypot(clientX - x, clientY - y) >= DRAG_PX) return;
      // The row's index may have changed since the last frame.
      this.#draw();
      this.#activate(this.#rows.get(id));
    });
    // A click without a pointer comes from an assistive program.
    this.element.addEventListener("click", ({ target, detail }) => {
      if (detail === 0) this.#activate(rowOf(target));
    });
    new ResizeObserver(() => this.refresh()).observe(this.element);
  }

  #activate(row: HTMLElement | undefined): void {
    if (row === undefined) return;
    this.#active = Number(row.dataset["index"]);
    this.#source.activate(this.#active);
    this.refresh();
  }

  /** Draws the rows in the next frame. */
  refresh(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  /** Makes a row the active one and scrolls to it. */
  reveal(index: number): void {
    const { count } = this.#source;
    this.#active = Math.max(0, Math.min(index, count - 1));
    const { scrollTop, clientHeight } = this.element;
    // The spacer must have its height before the list can be scrolled there.
    this.#spacer.style.height = `${contentHeight(count, this.#rowPx)}px`;
    this.element.scrollTop = scrollTo(this.#active, count, this.#rowPx, scrollTop, clientHeight);
    this.refresh();
  }

  #draw(): void {
    const { count } = this.#source;
    const { scrollTop, clientHeight } = this.element;
    if (clientHeight === 0) return;
    const range = visibleRange(count, this.#rowPx, scrollTop, clientHeight);
    this.#spacer.style.height = `${contentHeight(count, this.#rowPx)}px`;
    this.#window.style.transform = `translateY(${range.topPx}px)`;
    const rows: HTMLElement[] = [];
    for (let index = range.first; index < range.end; index += 1) rows.push(this.#row(index));
    const { children } = this.#window;
    const isSame = rows.length === children.length && rows.every((row, index) => row === children[index]);
    if (!isSame) this.#window.replaceChildren(...rows);
    this.#rows = new Map(rows.map((row) => [row.id, row]));
    const active = rows[this.#active - range.first];
    if (active) this.element.setAttribute("aria-activedescendant", active.id);
    else this.element.removeAttribute("aria-activedescendant");
    this.#source.visible(range.first, range.end);
  }

  #row(index: number): HTMLElement {
    const { id, children, className = "", level, expanded, selected = false } = this.#source.row(index);
    const isTree = this.element.getAttribute("role") === "tree";
    const active = index === this.#active ? " active" : "";
    const row = this.#rows.get(id) ?? make("div", { id });
    const attributes: Record<string, string | undefined> = {
      class: `list-row ${className}${active}`,
      role: isTree ? "treeitem" : "option",
      "data-index": String(index),
      "aria-level": level === undefined ? undefined : String(level),
      "aria-expanded": expanded === undefined ? undefined : String(expanded),
      "aria-selected": String(selected),
    };
    for (const [name, value] of Object.entries(attributes)) {
      if (value === undefined) row.removeAttribute(name);
      else if (row.getAttribute(name) !== value) row.setAttribute(name, value);
    }
    row.replaceChildren(...children);
    return row;
  }

  #key(event: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.#rowPx) - 1);
    const last = this.#source.count - 1;
    const to: Record<string, number> = {
      ArrowDown: this.#active + 1,
      ArrowUp: this.#active - 1,
      PageDown: this.#active + page,
      PageUp: this.#active - page,
      Home: 0,
      End: last,
    };
    const { key } = event;
    if (key in to) this.reveal(to[key]!);
    else if (key === "Enter" || key === " ") this.#source.activate(this.#active);
    else if ((key === "ArrowRight" || key === "ArrowLeft") && this.#source.expand) {
      this.reveal(this.#source.expand(this.#active, key === "ArrowRight"));
    } else return;
    event.preventDefault();
    this.refresh();
  }
}
