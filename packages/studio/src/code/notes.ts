/** Texts beside lines: printed lines and errors of the running rules. */
import { type EditorState, type Extension, RangeSet, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";
import type { LogLine } from "../api/types.js";
import { make } from "../dom.js";

export interface Note {
  readonly line: number;
  readonly type: "print" | "error";
  readonly text: string;
}

/** A note at a line of a file. */
export interface FileNote extends Note {
  readonly file: string;
}

/** The notes after more lines of the log. A new version of the rules ends the errors of the versions before it. */
export function notesAfter(notes: readonly FileNote[], lines: readonly LogLine[]): readonly FileNote[] {
  let kept = [...notes];
  for (const { type, file, line, text = "" } of lines) {
    if (type === "rules" && file === undefined) kept = kept.filter((note) => note.type !== "error");
    if (file === undefined || line === undefined || type === "chat" || type === "event") continue;
    const isPrint = type === "print";
    // The note is at the line already.
    const place = `${file}:${line}: `;
    const shown = text.startsWith(place) ? text.slice(place.length) : text;
    kept.push({ file, line, text: shown, type: isPrint ? "print" : "error" });
  }
  return kept;
}

const SET_NOTES = StateEffect.define<readonly Note[]>();
const TEXT_MAX = 120;

class NoteWidget extends WidgetType {
  constructor(readonly note: Note) {
    super();
  }

  override eq({ note }: NoteWidget): boolean {
    return note.type === this.note.type && note.text === this.note.text;
  }

  /** A click on a note puts the cursor on its line. */
  override ignoreEvent(): boolean {
    return false;
  }

  override toDOM(): HTMLElement {
    const { type, text } = this.note;
    const [first = ""] = text.split("\n", 1);
    const short = first.length > TEXT_MAX ? `${first.slice(0, TEXT_MAX)}…` : first;
    return make("span", { class: `note-${type}`, title: text }, short);
  }
}

function decorate(state: EditorState, notes: readonly Note[]): DecorationSet {
  const lines = state.doc.lines;
  // The newest note of a line and type is shown.
  const newest = new Map<string, Note>();
  for (const note of notes) {
    if (note.line >= 1 && note.line <= lines) newest.set(`${note.line} ${note.type}`, note);
  }
  const ranges = [...newest.values()].map((note) =>
    Decoration.widget({ widget: new NoteWidget(note), side: 1 }).range(state.doc.line(note.line).to),
  );
  return RangeSet.of(ranges, true);
}

/** Shows the notes that {@link setNotes} sets. They move with their lines while the text is edited. */
export function lineNotes(): Extension {
  return StateField.define<DecorationSet>({
    create: () => Decoration.none,
    update(shown, { changes, effects, state }) {
      for (const effect of effects) if (effect.is(SET_NOTES)) return decorate(state, effect.value);
      return shown.map(changes);
    },
    provide: (field) => EditorView.decorations.from(field),
  });
}

export function setNotes(view: EditorView, notes: readonly Note[]): void {
  view.dispatch({ effects: SET_NOTES.of(notes) });
}
