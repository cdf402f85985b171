/** A world in TypeScript in a folder of its own, which has the packages of this checkout. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

const CONFIGURATION = { extends: "@nowcast/world-script/tsconfig.json", include: ["**/*.ts"] };

/** The start of a module that uses the API. */
export const WORLD = 'import * as world from "@nowcast/world";\n';

export class WorldFolder {
  readonly path = mkdtempSync(join(tmpdir(), "world-script-"));

  constructor(files: Readonly<Record<string, string>>) {
    symlinkSync(join(ROOT, "node_modules"), join(this.path, "node_modules"));
    this.write("tsconfig.json", JSON.stringify(CONFIGURATION));
    for (const [path, text] of Object.entries(files)) this.write(path, text);
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.path, path)), { recursive: true });
    writeFileSync(join(this.path, path), text);
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
