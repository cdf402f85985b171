/** Names of JavaScript that worlds do not have, each with the cure. */
import type ts from "typescript";

const WAIT =
  'a script cannot wait. Declare a timer, world.timer("name", (data) => …), and set it with world.after.';
const WEAK = "it would show when memory is collected, which differs between runs. Use Map or Set.";

const REFUSED: ReadonlyMap<string, string> = new Map([
  ["Date", "a world has no clock but its own. Use world.time() for seconds, or world.tick() for steps."],
  ["Promise", WAIT],
  ["AsyncFunction", WAIT],
  ["WeakMap", WEAK],
  ["WeakSet", WEAK],
  ["WeakRef", WEAK],
  ["FinalizationRegistry", WEAK],
  ["JSON", "data needs no text: world.state, attributes, events and timers take values."],
  ["Intl", "texts do not depend on the machine's language. Format numbers with toFixed."],
  ["Proxy", "Luau has none. Write a function."],
  ["Reflect", "Luau has none. Use Object.keys."],
  ["RegExp", "Luau has no regular expressions. Use includes, indexOf, split or startsWith."],
  ["BigInt", "Luau has none. Numbers are exact up to 2 ** 53."],
  ["ArrayBuffer", "Luau has none. Use an array of numbers."],
  ["SharedArrayBuffer", "Luau has none. Use an array of numbers."],
  ["Atomics", "Luau has none. A world runs on one thread."],
  ["DataView", "Luau has none. Use an array of numbers."],
  ["eval", "a script cannot compile text."],
  ["Function", "a script cannot compile text."],
]);

/** One place that is refused. */
export interface Refusal {
  readonly file: ts.SourceFile;
  readonly start: number;
  readonly length: number;
  readonly message: string;
}

/** Returns every use of such a name, of `async`, or of a regular expression in a world's file. */
export function refusals(compiler: typeof ts, program: ts.Program, file: ts.SourceFile): Refusal[] {
  const checker = program.getTypeChecker();
  const found: Refusal[] = [];
  const refuse = (node: ts.Node, name: string, why: string) => {
    const start = node.getStart(file);
    found.push({ file, start, length: node.end - start, message: `A world has no ${name}: ${why}` });
  };
  const isOfLibrary = (node: ts.Identifier) => {
    const declared = checker.getSymbolAtLocation(node)?.declarations ?? [];
    return (
      declared.length > 0 && declared.every((at) => program.isSourceFileDefaultLibrary(at.getSourceFile()))
    );
  };
  const visit = (node: ts.Node): void => {
    if (compiler.isTypeNode(node)) return;
    if (compiler.isIdentifier(node)) {
      const why = REFUSED.get(node.text);
      const isName = compiler.isPropertyAccessExpression(node.parent) && node.parent.name === node;
      if (why !== undefined && !isName && isOfLibrary(node)) refuse(node, node.text, why);
    } else if (node.kind === compiler.SyntaxKind.AsyncKeyword) {
      refuse(node, "async", WAIT);
    } else if (compiler.isRegularExpressionLiteral(node)) {
      refuse(node, "RegExp", REFUSED.get("RegExp")!);
    }
    compiler.forEachChild(node, visit);
  };
  visit(file);
  return found;
}
