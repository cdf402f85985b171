/** Elements without markup: values and names of strangers only ever become text. */

export type Child = Node | string | undefined;
type Attributes = Readonly<Record<string, string | boolean | undefined>>;

/** Makes an element. `true` sets an empty attribute; `false` and `undefined` set none. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

/** A button that calls `run`. */
export function button(label: string, run: () => unknown, attributes: Attributes = {}): HTMLButtonElement {
  const made = make("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", () => void run());
  return made;
}

/** A labelled control: the label is above it. */
export function field(label: string, control: HTMLElement, hint?: string): HTMLLabelElement {
  return make(
    "label",
    { class: "field" },
    make("span", {}, label),
    control,
    hint === undefined ? undefined : make("small", {}, hint),
  );
}

/** A list to choose from, with `[value, label]` rows. */
export function choice(
  options: readonly (readonly [string, string])[],
  changed: (value: string) => void,
  attributes: Attributes = {},
): HTMLSelectElement {
  const select = make(
    "select",
    attributes,
    ...options.map(([value, label]) => make("option", { value }, label)),
  );
  select.addEventListener("change", () => changed(select.value));
  return select;
}

/** Writes text only if it differs, so that unchanged text causes no layout. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** A table of texts. Cells may be elements. The columns `numbers` are aligned to the right. */
export function table(
  label: string,
  heads: readonly string[],
  rows: readonly (readonly (string | Node)[])[],
  numbers: readonly number[] = [],
): HTMLElement {
  const aligned = (index: number): string | undefined => (numbers.includes(index) ? "number" : undefined);
  const head = make(
    "tr",
    {},
    ...heads.map((text, index) => make("th", { scope: "col", class: aligned(index) }, text)),
  );
  const body = rows.map((cells) =>
    make("tr", {}, ...cells.map((cell, index) => make("td", { class: aligned(index) }, cell))),
  );
  return make(
    "div",
    { class: "table-scroll", role: "region", "aria-label": label, tabindex: "0" },
    make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)),
  );
}

/** Named figures in boxes. */
export function figures(rows: readonly (readonly [string, string])[]): HTMLElement {
  return make(
    "dl",
    { class: "figures" },
    ...rows.map(([name, text]) =>
      make("div", { class: "figure" }, make("dt", {}, name), make("dd", {}, text)),
    ),
  );
}
