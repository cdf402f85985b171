/** Highlighting and completion of Luau for CodeMirror. */
import {
  type CompletionContext,
  type CompletionResult,
  completeFromList,
  ifNotIn,
} from "@codemirror/autocomplete";
import { LanguageSupport, StreamLanguage, type StringStream } from "@codemirror/language";

const KEYWORDS = new Set(
  "and break continue do else elseif end export false for function if in local nil not or repeat return then true type typeof until while".split(
    " ",
  ),
);
const GLOBALS = new Set(
  "assert bit32 buffer coroutine error ipairs math next os pairs pcall print require select self setmetatable string table tonumber tostring type unpack utf8 vector world xpcall".split(
    " ",
  ),
);
const OPENS = /^(?:do|function|then|repeat|\{|\(|\[)$/;

interface State {
  /** The end of the long text or comment in which the line begins. */
  closing: string | undefined;
  isComment: boolean;
  depth: number;
}

/** Reads on to the end of a long text or comment. */
function readLong(stream: StringStream, state: State): string {
  const style = state.isComment ? "comment" : "string";
  while (!stream.eol()) {
    if (stream.match(state.closing!)) {
      state.closing = undefined;
      return style;
    }
    stream.next();
  }
  return style;
}

function beginLong(stream: StringStream, state: State, isComment: boolean): string | undefined {
  const opening = stream.match(/^\[(=*)\[/) as RegExpMatchArray | null;
  if (!opening) return undefined;
  state.closing = `]${opening[1]}]`;
  state.isComment = isComment;
  return readLong(stream, state);
}

function readText(stream: StringStream, quote: string): string {
  for (let next = stream.next(); next && next !== quote; next = stream.next()) {
    if (next === "\\") stream.next();
  }
  return "string";
}

/** The style of the next piece of a line; `null` for plain text. */
export function readToken(stream: StringStream, state: State): string | null {
  if (state.closing !== undefined) return readLong(stream, state);
  if (stream.eatSpace()) return null;
  if (stream.match("--")) {
    const long = beginLong(stream, state, true);
    if (long) return long;
    stream.skipToEnd();
    return "comment";
  }
  const long = beginLong(stream, state, false);
  if (long) return long;
  if (stream.match(/^(?:0[xX][\da-fA-F_]+|0[bB][01_]+|\d[\d_]*\.?[\d_]*(?:[eE][+-]?\d+)?)/)) return "number";
  const word = stream.match(/^[A-Za-z_]\w*/) as RegExpMatchArray | null;
  if (word) return styleOf(word[0], stream, state);
  const next = stream.next()!;
  if (next === '"' || next === "'" || next === "`") return readText(stream, next);
  if (OPENS.test(next)) state.depth += 1;
  if (/[)}\]]/.test(next)) state.depth = Math.max(0, state.depth - 1);
  return /[+\-*/%^#=<>~.:]/.test(next) ? "operator" : null;
}

function styleOf(word: string, stream: StringStream, state: State): string {
  if (OPENS.test(word)) state.depth += 1;
  if (word === "end" || word === "until" || word === "elseif") state.depth = Math.max(0, state.depth - 1);
  if (KEYWORDS.has(word)) return word === "true" || word === "false" || word === "nil" ? "atom" : "keyword";
  if (GLOBALS.has(word)) return "variableName.standard";
  return stream.match(/^\s*[({"']/, false) ? "variableName.function" : "variableName";
}

const LANGUAGE = StreamLanguage.define<State>({
  name: "luau",
  startState: () => ({ closing: undefined, isComment: false, depth: 0 }),
  token: readToken,
  indent: (state, after, { unit }) =>
    Math.max(0, state.depth - (/^\s*(?:end|until|else|elseif|[)}\]])/.test(after) ? 1 : 0)) * unit,
  languageData: { commentTokens: { line: "--", block: { open: "--[[", close: "]]" } } },
});

/** The names of a text of types: functions, fields and types. */
export function namesOf(types: string): string[] {
  const names = new Set<string>();
  for (const [, name] of types.matchAll(/\b(?:type|function)\s+([A-Za-z_]\w*)|\b([A-Za-z_]\w*)\s*:/g)) {
    if (name) names.add(name);
  }
  for (const [, name] of types.matchAll(/(?<![\w.])([A-Za-z_]\w*)\s*\??\s*:/g)) if (name) names.add(name);
  return [...names].sort();
}

/** Luau with the names of the world's types as completions outside comments and texts. `types` is asked at each completion. */
export function luau(types: () => readonly string[]): LanguageSupport {
  const keywords = [...KEYWORDS].map((label) => ({ label, type: "keyword" }));
  const globals = [...GLOBALS].map((label) => ({ label, type: "variable" }));
  const complete = (
    context: CompletionContext,
  ): CompletionResult | Promise<CompletionResult | null> | null => {
    const isMember = context.matchBefore(/[.:]\w*$/) !== null;
    const members = types().map((label) => ({ label, type: "property" }));
    const from = completeFromList(isMember ? members : [...keywords, ...globals, ...members]);
    const word = context.matchBefore(/\w+$/);
    if (!word && !isMember && !context.explicit) return null;
    if (isMember && !word) return { from: context.pos, options: members };
    return from(context);
  };
  return new LanguageSupport(
    LANGUAGE,
    LANGUAGE.data.of({ autocomplete: ifNotIn(["comment", "string"], complete) }),
  );
}
