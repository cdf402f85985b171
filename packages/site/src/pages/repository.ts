/** Files of the repository, as git tracks them. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));

/** All tracked and new files of the repository, from its root, without those that git ignores. */
export function filesOfRepository(root = ROOT): ReadonlySet<string> {
  const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  return new Set(listed.split("\n").filter((line) => line !== ""));
}

export function readRepositoryFile(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** The direct children of a folder; folders end in a slash. */
export function childrenOf(folder: string, files: ReadonlySet<string>): readonly string[] {
  const prefix = folder === "" ? "" : `${folder}/`;
  const children = new Set<string>();
  for (const file of files) {
    if (!file.startsWith(prefix)) continue;
    const [first, ...rest] = file.slice(prefix.length).split("/");
    children.add(rest.length > 0 ? `${first}/` : first!);
  }
  return [...children].sort();
}

/** Resolves a relative link in `file` to a path from the repository's root. */
export function targetOf(file: string, link: string): string {
  return posix.join(posix.dirname(file), link).replace(/\/$/, "");
}
