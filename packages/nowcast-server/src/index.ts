/** Finds the nowcast program for this machine, which npm installs from an optional package. */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The platforms for which there is a package with the program. */
export const PLATFORMS: readonly string[] = ["linux-x64", "linux-arm64", "win32-x64"];

/** The program cannot be found or started. The message names the cause and the cure. */
export class ProgramError extends Error {
  override readonly name = "ProgramError";
}

/** The version of this package, which is the version of its program. */
export const VERSION = versionIn(fileURLToPath(new URL("../package.json", import.meta.url)));

/**
 * Returns the path of the program. Throws a `ProgramError` if there is no program for this platform, if its package is not
 * installed, or if its package has another version.
 *
 * @param platform the system and processor, as Node names them
 * @param resolve returns the path of a file of a package, and throws if the package is not installed
 */
export function programPath(
  platform: string = `${process.platform}-${process.arch}`,
  resolve: (file: string) => string = createRequire(import.meta.url).resolve,
): string {
  if (!PLATFORMS.includes(platform)) {
    throw new ProgramError(
      `nowcast-server has no program for ${platform}: there are programs for ${PLATFORMS.join(", ")}. ` +
        "Build it from a checkout: cargo xtask build.",
    );
  }
  const name = `@nowcast/server-${platform}`;
  let manifest: string;
  try {
    manifest = resolve(`${name}/package.json`);
  } catch {
    throw new ProgramError(
      `the package ${name} with the program is not installed, because optional packages were left out: ` +
        "install nowcast-server again without --omit=optional.",
    );
  }
  const version = versionIn(manifest);
  if (version !== VERSION) {
    throw new ProgramError(
      `nowcast-server ${VERSION} cannot use ${name} ${version}: both must have one version. ` +
        `Install nowcast-server@${VERSION} again, or update it to ${version}.`,
    );
  }
  const program = join(dirname(manifest), "bin", platform.startsWith("win32") ? "nowcast.exe" : "nowcast");
  if (!existsSync(program)) {
    throw new ProgramError(`${program} is missing: install nowcast-server again.`);
  }
  return program;
}

/**
 * Returns the program that a user named: by the variable `NOWCAST_BIN`, or, in an npm script, by `config.nowcast` in
 * package.json, which `nowcast new` writes in a checkout. Without such a name, returns {@link programPath}.
 */
export function findProgram(): string {
  return process.env["NOWCAST_BIN"] ?? process.env["npm_package_config_nowcast"] ?? programPath();
}

/** Returns an error of starting a program as a `ProgramError` with a cure. */
export function explainStart(program: string, error: NodeJS.ErrnoException): ProgramError {
  // The file exists, so the missing file is the loader that it names.
  const cure =
    error.code === "ENOENT" && existsSync(program)
      ? "it needs a system with glibc 2.28 or newer, such as Debian 10 or Ubuntu 20.04. Alpine has none."
      : error.code === "EACCES"
        ? "it may not be executed here: is the disk mounted with noexec?"
        : "install nowcast-server again.";
  return new ProgramError(`${program} cannot be started (${error.code ?? error.message}): ${cure}`);
}

function versionIn(manifest: string): string {
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version;
}
