/** The types of a world's module in the program of a page. */
import { join } from "node:path";
import ts from "typescript";
import { afterEach, expect, it } from "vitest";
import { ROOT, WORLD, WorldFolder } from "./world-folder.js";

let folder: WorldFolder | undefined;
afterEach(() => folder?.remove());

const RULES = `${WORLD}
export const Ball = world.kind("ball", {
  attributes: { last: "player?", heat: { type: "f32", min: 0, max: 1 }, at: "vector", saved: "any" },
});
export const Person = world.kind("person", { walker: { adjustable: true } });
export const kick = world.action("kick", { power: "f32", who: "entity?" }, (player) => player.tell(kick));
export const goal = world.event("goal", { team: "text", count: "u64" });
`;

const PAGE = `
import type { WorldTypesOf } from "@nowcast/world";
import { joinWorld } from "nowcast/world";

const world = joinWorld<WorldTypesOf<typeof import("./world")>>("/r/rules");
for (const { attributes } of world.entitiesOf("ball")) {
  const last: number | null = attributes.last;
  const [x]: [number, number, number] = attributes.at;
  console.log(last, x + attributes.heat);
}
for (const { attributes } of world.entitiesOf("person")) console.log(attributes.speed + 1, attributes.frozen === true);
await world.act("kick", { power: 1, who: 3 });
world.on("event:goal", ({ payload }) => console.log(payload.team.length, BigInt(payload.count)));
world.on("chat", ({ text }) => console.log(text));
document.title = "a page";
// Mistakes:
world.act("kikc");
world.act("kick", { power: "hard" });
world.on("event:goall", () => {});
world.entitiesOf("bal");
for (const { attributes } of world.entitiesOf("ball")) attributes.last.toFixed();
`;

it("come from import type, and show mistakes in names and values", () => {
  folder = new WorldFolder({ "world.ts": RULES, "page.ts": PAGE });
  const program = ts.createProgram([join(folder.path, "page.ts")], {
    ...{ noEmit: true, strict: true, skipLibCheck: true, target: ts.ScriptTarget.ES2022 },
    ...{ module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
    lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts", "lib.esnext.disposable.d.ts"],
    types: [join(ROOT, "packages/world-script/types/index.d.ts")],
  });
  const said = ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
    const line = file && start !== undefined ? file.getLineAndCharacterOfPosition(start).line : -1;
    return `${file?.text.split("\n")[line]?.trim()} ${ts.flattenDiagnosticMessageText(messageText, " ")}`;
  });
  const mistakes = PAGE.slice(PAGE.indexOf("// Mistakes:")).trim().split("\n").slice(1);
  expect(said.map((text) => mistakes.find((line) => text.startsWith(line)) ?? text)).toEqual(mistakes);
});
