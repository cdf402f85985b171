// Measures how much the SDK adds to a page: bundled by esbuild, minified, compressed by gzip. `--check` fails
// beyond the budget.
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/**
 * Budget: bytes, after gzip, of everything that a page loads for the import. Code that is loaded
 * later is counted separately.
 */
const BUDGET = [
  // The code that runs a session is loaded while the endpoint answers and a carrier opens. 3 kB of the later code are
  // a WebSocket for old versions of Node, which no browser loads.
  // The rate of a policer and the order of overdue keys take 0.6 kB of the later code.
  // A connection that follows a room to another server of a cluster takes 0.4 kB of the first load.
  { entry: "nowcast", name: "connect", bytesMax: 8_300, laterMax: 31_500 },
  // The code that reads a world is loaded while the session begins. Most of this code is the
  // general codec, which is needed because each world declares its own attributes. Listeners of one kind, entity
  // and attribute take 0.2 kB of the first load, and the origin of the server with the errors that name it another 0.2 kB.
  // Motion rows take 1.5 kB of the later load. A client that joins the next server of a room in advance takes 0.3 kB of the
  // first load, and 0.1 kB of the later one. The patience with late answers takes another 0.1 kB.
  { entry: "nowcast/world", name: "joinWorld", bytesMax: 18_900, laterMax: 70_200 },
  { entry: "nowcast/codec", name: "defineCodec", bytesMax: 18_900 },
];

const source = new URL("./src/", import.meta.url);
let isWithin = true;
console.log(
  "| entry | import | first load, gzip | minified | later, gzip |\n| --- | --- | --- | --- | --- |",
);
for (const { entry, name, bytesMax, laterMax = Number.POSITIVE_INFINITY } of BUDGET) {
  const file = `./${entry.replace(/^nowcast\/?/, "").replace(/.$/, "$&/")}index.ts`;
  const { outputFiles } = await build({
    stdin: { contents: `export { ${name} } from "${file}";`, resolveDir: source.pathname, loader: "ts" },
    bundle: true,
    minify: true,
    splitting: true,
    format: "esm",
    target: "es2022",
    outdir: "out",
    entryNames: "entry",
    write: false,
    metafile: true,
    logLevel: "error",
  });
  const first = loadedFirst(outputFiles);
  const later = outputFiles.filter((output) => !first.includes(output));
  const gzip = (files) =>
    files.reduce((sum, { contents }) => sum + gzipSync(contents, { level: 9 }).length, 0);
  const minified = first.reduce((sum, { contents }) => sum + contents.length, 0);
  const verdict = (bytes, max) => {
    if (bytes <= max) return `${bytes}`;
    isWithin = false;
    return `${bytes} (more than ${max})`;
  };
  const figures = [verdict(gzip(first), bytesMax), minified, verdict(gzip(later), laterMax)];
  console.log(`| ${entry} | ${name} | ${figures.join(" | ")} |`);
}
if (process.argv.includes("--check") && !isWithin) process.exitCode = 1;

/** The entry, and all chunks that it imports statically, directly or indirectly. */
function loadedFirst(outputs) {
  const named = (name) => outputs.find(({ path }) => path.endsWith(`/${name}`));
  const found = [];
  const visit = (output) => {
    if (output === undefined || found.includes(output)) return;
    found.push(output);
    for (const [, name] of output.text.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)) visit(named(name));
  };
  visit(named("entry.js"));
  return found;
}
