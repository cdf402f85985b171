/** The arguments of `npm create nowcast`. */

/** The worlds from which a new one can start. The first is the default. */
export const TEMPLATES: readonly string[] = ["minimal", "playground", "football"];

/** The languages of the rules, as they are named in the question. The first is the default. */
export const LANGUAGES: readonly Language[] = ["Luau", "TypeScript"];
export type Language = "Luau" | "TypeScript";

export interface Options {
  readonly folder: string;
  /** The chosen language, or undefined if the user is to be asked. */
  readonly language: Language | undefined;
  /** The sample for a world in Luau. */
  readonly template: string;
  readonly start: boolean;
  readonly open: boolean;
  /** The port, if the user chose one. */
  readonly port: string | undefined;
  /** Arguments for `nowcast serve`. */
  readonly serve: readonly string[];
}

/** A mistake by the user, or a fault of the machine. The message names the cause and the cure. */
export class CreateError extends Error {
  override readonly name = "CreateError";
}

export const HELP = `npm create nowcast@latest [FOLDER] [-- FLAGS]

Makes a world in FOLDER (default: my-world), serves it, and opens it in a browser. A saved file takes effect at once.

  --luau            write the rules in Luau, without a question
  --typescript      write the rules in TypeScript, without a question
  --template NAME   sample in Luau to start from, without a question (${TEMPLATES.join(", ")}, or another of
                    nowcast new --help)
  --no-start        only make the folder
  --no-open         do not open a browser
  --port N          port of the server (default: 7777, or the next free one)

Other flags are passed to nowcast serve.
`;

/** Reads the arguments. Throws a `CreateError` for a flag without its value, or a second folder. */
export function readOptions(args: readonly string[]): Options {
  let folder: string | undefined;
  let template: string | undefined;
  let language: Language | undefined;
  let port: string | undefined;
  let start = true;
  let open = true;
  const serve: string[] = [];
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const [flag, given] = arg.startsWith("--") ? split(arg) : [undefined, undefined];
    if (flag === "--template") template = given ?? value(flag, rest.shift());
    else if (flag === "--luau" || flag === "--typescript") {
      const chosen = flag === "--luau" ? "Luau" : "TypeScript";
      if (language !== undefined && language !== chosen)
        throw new CreateError("--luau and --typescript exclude each other: give one.");
      language = chosen;
    } else if (flag === "--port") port = given ?? value(flag, rest.shift());
    else if (flag === "--no-start") start = false;
    else if (flag === "--no-open") open = false;
    else if (flag !== undefined) {
      serve.push(arg);
      // A word after an unknown flag is the value of the flag.
      if (given === undefined && rest[0]?.startsWith("-") === false && folder !== undefined)
        serve.push(rest.shift()!);
    } else if (folder === undefined) folder = arg;
    else
      throw new CreateError(
        `${arg} is a second folder: give one, such as npm create nowcast@latest ${folder}`,
      );
  }
  if (template !== undefined && language === "TypeScript")
    throw new CreateError("--template names a sample in Luau: leave out --template or --typescript.");
  // A sample answers the question, because the samples are in Luau.
  if (template !== undefined) language = "Luau";
  return {
    folder: folder ?? "my-world",
    language,
    template: template ?? TEMPLATES[0]!,
    start,
    open,
    port,
    serve,
  };
}

function split(arg: string): [string, string | undefined] {
  const at = arg.indexOf("=");
  return at < 0 ? [arg, undefined] : [arg.slice(0, at), arg.slice(at + 1)];
}

function value(flag: string, next: string | undefined): string {
  if (next === undefined || next.startsWith("-")) throw new CreateError(`${flag} needs a value: see --help`);
  return next;
}

/** Returns the language that an answer names, by its name or the beginning of its name. */
export function readLanguage(answer: string): Language {
  const begun = answer.trim().toLowerCase();
  const found = LANGUAGES.find((language) => language.toLowerCase().startsWith(begun));
  if (found === undefined)
    throw new CreateError(
      `there is no ${answer.trim()} for rules; nothing was made. Answer ${LANGUAGES.join(" or ")}.`,
    );
  return found;
}
