import type { Value, Writer } from "../api/types.js";
import { button, make, setText } from "../dom.js";
import { readValue, shortText, valueText } from "../value.js";
import type { WriterLine } from "./writer-line.js";

/** Saves a value; rejected with a reason for people. */
export type SaveValue = (value: Value) => Promise<unknown>;

/** A named value that is shown live, and edited in place if `save` is given. */
export class ValueEditor {
  readonly element: HTMLElement;
  readonly #name: string;
  readonly #save: SaveValue | undefined;
  readonly #failed: (error: unknown) => void;
  readonly #shown: HTMLElement;
  readonly #writer: WriterLine | undefined;
  #value: Value = null;

  /** With `watch`, a button beside the value calls it. `writer` shows the newest writer of the value. */
  constructor(
    name: string,
    save: SaveValue | undefined,
    failed: (error: unknown) => void,
    watch?: () => void,
    writer?: WriterLine,
  ) {
    this.#name = name;
    this.#save = save;
    this.#failed = failed;
    this.#writer = writer;
    this.#shown = save
      ? button("", () => this.#edit(), { class: "value", "aria-label": `Edit ${name}` })
      : make("span", { class: "value" });
    this.element = make(
      "div",
      { class: "property", role: "group", "aria-label": name },
      make("span", {}, name),
      this.#shown,
      watch && button("Watch", watch, { class: "quiet watch-value", "aria-label": `Watch ${name}` }),
      writer?.element,
    );
  }

  /** Shows the newest writer of the value that was read at a step. */
  showWriter(tick: number, writer: Writer | undefined | null): void {
    this.#writer?.show(tick, writer);
  }

  set(value: Value): void {
    const text = shortText(value, 200);
    const isNew = this.#shown.textContent !== "" && this.#shown.textContent !== text;
    this.#value = value;
    setText(this.#shown, text === "" ? "\u00a0" : text);
    if (this.#save) this.#shown.setAttribute("aria-label", `Edit ${this.#name}, now ${text}`);
    if (isNew) this.#flash();
  }

  #flash(): void {
    this.#shown.classList.remove("fresh");
    // A new animation needs a new layout.
    void this.#shown.offsetWidth;
    this.#shown.classList.add("fresh");
  }

  #edit(): void {
    const like = this.#value;
    if (typeof like === "boolean") return void this.#store(!like);
    const text = typeof like === "string" ? like : valueText(like);
    const isLong = text.length > 40 || (typeof like === "object" && like !== null && !Array.isArray(like));
    const input = isLong
      ? make("textarea", { rows: "4", "aria-label": this.#name, spellcheck: "false" })
      : make("input", { "aria-label": this.#name, spellcheck: "false" });
    input.value = isLong && typeof like === "object" ? JSON.stringify(like, undefined, 1) : text;
    let isOver = false;
    const end = (hasFocus: boolean): void => {
      if (isOver) return;
      isOver = true;
      input.replaceWith(this.#shown);
      if (hasFocus) this.#shown.focus();
    };
    input.addEventListener("keydown", (event) => {
      if (!(event instanceof KeyboardEvent)) return;
      // Enter and Escape belong to the conversion of an input method. Safari marks its last key only by the code 229.
      if (event.isComposing || event.keyCode === 229) return;
      if (event.key === "Escape") end(true);
      if (event.key !== "Enter" || (isLong && !event.ctrlKey && !event.metaKey)) return;
      event.preventDefault();
      try {
        const value = readValue(input.value, like);
        end(true);
        void this.#store(value);
      } catch (error) {
        this.#failed(error);
      }
    });
    input.addEventListener("blur", () => end(false));
    this.#shown.replaceWith(input);
    input.focus();
    input.select();
  }

  async #store(value: Value): Promise<void> {
    try {
      await this.#save!(value);
      this.set(value);
    } catch (error) {
      this.#failed(error);
    }
  }
}

/** Value editors for the entries of a map, which may change. */
export class ValueMap {
  readonly element = make("div", { class: "properties" });
  readonly #editors = new Map<string, ValueEditor>();
  readonly #make: (name: string) => ValueEditor;

  constructor(make: (name: string) => ValueEditor) {
    this.#make = make;
  }

  set(values: { readonly [name: string]: Value }): void {
    for (const name of [...this.#editors.keys()]) {
      if (Object.hasOwn(values, name)) continue;
      this.#editors.get(name)!.element.remove();
      this.#editors.delete(name);
    }
    for (const [name, value] of Object.entries(values)) {
      let editor = this.#editors.get(name);
      if (!editor) {
        editor = this.#make(name);
        this.#editors.set(name, editor);
        this.element.append(editor.element);
      }
      editor.set(value);
    }
  }

  /** Shows the newest writer of each value that was read at a step. */
  showWriters(tick: number, writers: { readonly [name: string]: Writer } = {}): void {
    for (const [name, editor] of this.#editors) editor.showWriter(tick, writers[name]);
  }

  get size(): number {
    return this.#editors.size;
  }
}
