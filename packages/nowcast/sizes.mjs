// Measures how much the SDK adds to a page: built by Vite, minified, compressed by gzip. `--check` fails beyond the budget.
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "vite";

/**
 * Budget: bytes, after gzip, of everything that a page loads for the import, of the code that it loads later in any case, and of
 * the code that shows poses, which is loaded with the first call of `World.frame`.
 */
const BUDGET = [
  // The code that runs a session is loaded while the endpoint answers and a carrier opens. 3 kB of the later code are
  // a WebSocket for old versions of Node, which no browser loads.
  // The rate of a policer and the order of overdue keys take 0.6 kB of the later code.
  // A connection that follows a room to another server of a cluster takes 0.4 kB of the first load.
  { entry: "nowcast", name: "connect", bytesMax: 7_600, laterMax: 32_800 },
  // The code that reads a world is loaded while the session begins. Most of this code is the
  // general codec, which is needed because each world declares its own attributes. Listeners of one kind, entity
  // and attribute take 0.2 kB of the first load, and the origin of the server with the errors that name it another 0.2 kB.
  // Motion rows take 1.5 kB of the later load. A client that joins the next server of a room in advance takes 0.3 kB of the
  // first load, and 0.1 kB of the later one. The patience with late answers takes another 0.1 kB.
  // Addresses below a base path take 0.1 kB of the first load.
  // Prediction takes 19 kB of the code of poses: a page whose player has no walking avatar does not load it. The glide after a
  // cut, and the jumps that pages are told, take another 0.3 kB.
  { entry: "nowcast/world", name: "joinWorld", bytesMax: 17_300, laterMax: 65_200, posesMax: 23_900 },
  { entry: "nowcast/codec", name: "defineCodec", bytesMax: 19_200, laterMax: 0 },
];
const POSES = /\/world\/(poses\/poses|prediction\/avatar-prediction)\.ts$/;

const source = fileURLToPath(new URL("./src/", import.meta.url));
let isWithin = true;
console.log(
  "| entry | import | first load, gzip | later, gzip | poses, gzip |\n| --- | --- | --- | --- | --- |",
);
for (const { entry, name, bytesMax, laterMax, posesMax = 0 } of BUDGET) {
  const file = `${source}${entry.replace(/^nowcast\/?/, "").replace(/.$/, "$&/")}index.ts`;
  const chunks = await bundle(`export { ${name} } from ${JSON.stringify(file)};`);
  const first = loaded(chunks, ({ isEntry }) => isEntry);
  const session = loaded(chunks, (chunk) => chunk.isDynamicEntry && !POSES.test(chunk.facadeModuleId));
  const later = session.filter((chunk) => !first.includes(chunk));
  const poses = chunks.filter((chunk) => !first.includes(chunk) && !later.includes(chunk));
  const gzip = (files, max) => {
    const bytes = files.reduce((sum, { code }) => sum + gzipSync(code, { level: 9 }).length, 0);
    if (bytes <= max) return `${bytes}`;
    isWithin = false;
    return `${bytes} (more than ${max})`;
  };
  const figures = [gzip(first, bytesMax), gzip(later, laterMax), gzip(poses, posesMax)];
  console.log(`| ${entry} | ${name} | ${figures.join(" | ")} |`);
}
if (process.argv.includes("--check") && !isWithin) process.exitCode = 1;

/** Builds a page of one module. Returns its chunks. */
async function bundle(code) {
  const page = {
    name: "page",
    resolveId: (id) => (id === "page" ? "\0page" : undefined),
    load: (id) => (id === "\0page" ? code : undefined),
  };
  const { output } = await build({
    configFile: false,
    logLevel: "error",
    plugins: [page],
    build: {
      write: false,
      target: "es2022",
      modulePreload: false,
      rollupOptions: {
        input: "page",
        preserveEntrySignatures: "strict",
        // As `sideEffects` of the package says.
        treeshake: { moduleSideEffects: false },
      },
    },
  });
  return output;
}

/** The chunks that fit, and all chunks that they import statically, directly or indirectly. */
function loaded(chunks, fits) {
  const found = [];
  const visit = (chunk) => {
    if (chunk === undefined || found.includes(chunk)) return;
    found.push(chunk);
    for (const path of chunk.imports) visit(chunks.find(({ fileName }) => fileName === path));
  };
  for (const chunk of chunks) if (fits(chunk)) visit(chunk);
  return found;
}
