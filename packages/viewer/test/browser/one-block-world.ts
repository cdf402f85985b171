import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PLAYGROUND = fileURLToPath(new URL("../../../../worlds/playground", import.meta.url));
const BLOCKS = `
function plan.blocks()
	return { { at = vector.create(-0.65, 0.16, 12.7), yaw = 0, size = vector.one * 0.3, color = "#d97541" } }
end

return plan
`;

/** The world `meeting`: the playground with one block instead of three hundred, because software draws it for two eyes. */
export class OneBlockWorld {
  readonly folder: string;
  readonly #directory = mkdtempSync(join(tmpdir(), "nowcast-headsets-"));

  constructor() {
    this.folder = join(this.#directory, "meeting");
    cpSync(PLAYGROUND, this.folder, { recursive: true });
    rmSync(join(this.folder, "tests"), { recursive: true });
    const plan = join(this.folder, "plan.luau");
    writeFileSync(plan, readFileSync(plan, "utf8").replace(/\nreturn plan\s*$/, BLOCKS));
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
