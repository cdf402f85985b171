/** CodeMirror with the studio's colours. */
import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import { lintGutter, lintKeymap, type Diagnostic as Mark, setDiagnostics } from "@codemirror/lint";
import { EditorState, type Extension, Prec } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Diagnostic } from "../api/types.js";
import { make } from "../dom.js";
import { luau } from "./luau.js";
import { lineNotes, type Note, setNotes } from "./notes.js";

const COLORS = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.typeName], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-text)" },
  { tag: [tags.number, tags.atom, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: tags.comment, color: "var(--code-comment)", fontStyle: "italic" },
  { tag: [tags.function(tags.variableName), tags.standard(tags.variableName)], color: "var(--code-name)" },
]);

/** After Escape, Tab leaves the text for this time. */
const LEAVE_MS = 2_000;

const THEME = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--panel)", fontSize: "13px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "ui-monospace, monospace", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--sunk)", color: "var(--muted)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": {
    backgroundColor: "color-mix(in srgb, var(--accent) 10%, transparent)",
  },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--chosen)",
  },
  ".cm-tooltip": { backgroundColor: "var(--panel)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    background: "var(--accent)",
    color: "var(--accent-text)",
  },
  ".note-print, .note-error": {
    marginLeft: "2em",
    padding: "0 8px",
    borderRadius: "6px",
    backgroundColor: "var(--sunk)",
    fontStyle: "italic",
  },
  ".note-print": { color: "var(--code-name)" },
  ".note-error": { color: "var(--danger)" },
});

export interface EditorListener {
  changed(): void;
  save(): void;
  /** The names that completion offers. */
  names(): readonly string[];
}

/** The text of one file. The editor is in a shadow root, because only there CodeMirror needs no inline styles. */
export class Editor {
  readonly element = make("div", { class: "editor-host" });
  readonly #view: EditorView;
  readonly #listener: EditorListener;
  #isReadOnly = false;
  #path = "";

  constructor(listener: EditorListener) {
    this.#listener = listener;
    const root = this.element.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(":host { display: block; height: 100%; } .cm-editor { height: 100%; }");
    root.adoptedStyleSheets = [sheet];
    const unnamed = EditorView.contentAttributes.of({ "aria-label": "No file is open." });
    const state = EditorState.create({ extensions: unnamed });
    this.#view = new EditorView({ root, parent: root as unknown as Element, state });
  }

  get text(): string {
    return this.#view.state.doc.toString();
  }

  /** Opens another text. {@link Editor.keep} returns the previous text with its history. */
  open(path: string, text: string, isReadOnly: boolean, kept?: EditorState): void {
    this.#path = path;
    this.#isReadOnly = isReadOnly;
    const state = kept ?? EditorState.create({ doc: text, extensions: this.#extensions() });
    this.#view.setState(state);
  }

  /** The text with its history and selection, for a later `open`. */
  keep(): EditorState {
    return this.#view.state;
  }

  /** Replaces the text in one undoable step. */
  replace(text: string): void {
    this.#view.dispatch({ changes: { from: 0, to: this.#view.state.doc.length, insert: text } });
  }

  goTo(line: number): void {
    const { doc } = this.#view.state;
    const at = doc.line(Math.max(1, Math.min(line, doc.lines))).from;
    this.#view.dispatch({
      selection: { anchor: at },
      effects: EditorView.scrollIntoView(at, { y: "center" }),
    });
    this.#view.focus();
  }

  mark(diagnostics: readonly Diagnostic[]): void {
    const { doc } = this.#view.state;
    const marks: Mark[] = diagnostics
      .filter(({ line }) => line >= 1 && line <= doc.lines)
      .map(({ line, column, severity, message }) => {
        const { from, to } = doc.line(line);
        const begin = Math.min(to, from + Math.max(0, column - 1));
        return { from: begin === to ? from : begin, to, severity, message };
      });
    this.#view.dispatch(setDiagnostics(this.#view.state, marks));
  }

  note(notes: readonly Note[]): void {
    setNotes(this.#view, notes);
  }

  #extensions(): Extension {
    const save = (): boolean => {
      this.#listener.save();
      return true;
    };
    const language = this.#path.endsWith(".luau")
      ? luau(() => this.#listener.names())
      : this.#path.endsWith(".ts") || this.#path.endsWith(".json")
        ? javascript({ typescript: true })
        : [];
    // Also an Escape that closes the completions.
    const leave = (view: EditorView): boolean => {
      view.setTabFocusMode(LEAVE_MS);
      return false;
    };
    return [
      Prec.highest(keymap.of([{ key: "Escape", run: leave }])),
      lineNumbers(),
      highlightActiveLine(),
      highlightActiveLineGutter(),
      history(),
      drawSelection(),
      indentOnInput(),
      indentUnit.of("\t"),
      EditorState.tabSize.of(4),
      bracketMatching(),
      closeBrackets(),
      autocompletion(),
      lintGutter(),
      lineNotes(),
      language,
      syntaxHighlighting(COLORS),
      THEME,
      keymap.of([
        { key: "Mod-s", run: save, preventDefault: true },
        ...closeBracketsKeymap,
        ...completionKeymap,
        ...lintKeymap,
        ...historyKeymap,
        ...defaultKeymap,
        indentWithTab,
      ]),
      EditorState.readOnly.of(this.#isReadOnly),
      EditorView.contentAttributes.of({
        tabindex: "0",
        "aria-label": `Text of ${this.#path}. Escape, then Tab leaves the text.`,
      }),
      EditorView.updateListener.of(({ docChanged }) => {
        if (docChanged) this.#listener.changed();
      }),
    ];
  }
}
