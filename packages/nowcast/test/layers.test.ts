/** Checks the SDK's layers against the table in ARCHITECTURE.md, and that no imports form a cycle. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const SDK = join(ROOT, "packages/nowcast");

function sources(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return sources(path);
    return name.endsWith(".ts") ? [path] : [];
  });
}

/** The files of the same package that a file imports. */
function imports(file: string): string[] {
  const text = readFileSync(file, "utf8");
  const found = text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g);
  return [...found]
    .map(([, path = ""]) => resolve(dirname(file), path.replace(/\.js$/, ".ts")))
    .filter((path) => path.endsWith(".ts") && existsSync(path));
}

function layerOf(file: string): string {
  return relative(SDK, file).split("/").slice(0, 2).join("/");
}

/** For each layer, the others that it may import: the rows "| `src/x` | entry | job | may import |". */
function readTable(page: string): Map<string, Set<string>> {
  const rows = page.split("\n").filter((line) => line.startsWith("| `src/"));
  const inBackticks = (cell = ""): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
  const cells = rows.map((row) => row.split("|").map((cell) => cell.trim()));
  const layers = cells.map(([, layer]) => inBackticks(layer)[0] ?? "");
  return new Map(
    cells.map(([, , , , allowed = ""], row) => {
      const named = inBackticks(allowed);
      const others = layers.filter((layer) => !named.includes(layer));
      return [layers[row] ?? "", new Set(allowed.startsWith("all but") ? others : named)];
    }),
  );
}

/** A cycle of imports, if there is one. */
function circle(files: readonly string[]): string[] | undefined {
  const done = new Set<string>();
  const visit = (file: string, way: readonly string[]): string[] | undefined => {
    const before = way.indexOf(file);
    if (before >= 0) return [...way.slice(before), file];
    if (done.has(file)) return undefined;
    for (const next of imports(file)) {
      const found = visit(next, [...way, file]);
      if (found !== undefined) return found;
    }
    done.add(file);
    return undefined;
  };
  for (const file of files) {
    const found = visit(file, []);
    if (found !== undefined) return found.map((path) => relative(ROOT, path));
  }
  return undefined;
}

describe("the layers of the SDK", () => {
  const files = sources(join(SDK, "src"));
  const table = readTable(readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8"));

  it("are the folders that the table names, and the root holds an entry alone", () => {
    const folders = [...new Set(files.map(layerOf))].filter((name) => !name.endsWith(".ts"));
    expect(folders.sort()).toEqual([...table.keys()].sort());
    expect(files.filter((file) => dirname(file) === join(SDK, "src"))).toEqual([join(SDK, "src/index.ts")]);
  });

  it("import each other only as the table says", () => {
    const wrong: string[] = [];
    for (const file of files.filter((path) => path !== join(SDK, "src/index.ts"))) {
      for (const imported of imports(file)) {
        const [from, to] = [layerOf(file), layerOf(imported)];
        if (from !== to && !table.get(from)?.has(to)) {
          wrong.push(`${relative(SDK, file)} imports ${relative(SDK, imported)}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  it("have a curated entry where a program may import them", () => {
    const { exports } = JSON.parse(readFileSync(join(SDK, "package.json"), "utf8")) as {
      exports: Record<string, { default: string } | string>;
    };
    for (const entry of Object.values(exports)) {
      if (typeof entry === "string") continue;
      const source = join(SDK, entry.default.replace("./dist/", "src/").replace(/\.js$/, ".ts"));
      expect(existsSync(source), source).toBe(true);
      expect(readFileSync(source, "utf8")).not.toMatch(/export \*/);
    }
  });
});

describe.each(["nowcast", "viewer"])("the files of %s", (name) => {
  it("import each other in no circle", () => {
    expect(circle(sources(join(ROOT, "packages", name, "src")))).toBeUndefined();
  });
});
