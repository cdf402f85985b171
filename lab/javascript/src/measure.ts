import type { Codec, Findings, Row, Suite, Task } from "./types.js";

/**
 * Approximate length of a sample. Engines collect the garbage of a codec that creates a thousand objects every one to
 * two milliseconds. In shorter samples the median would show whether a collection happened, not its cost.
 */
const SAMPLE_MS = 8;
/** Number of samples that are taken for each requested sample. */
const SAMPLES_FACTOR = 2;
/** Warm-up time of each function, because engines compile only code that ran often. */
const WARM_UP_MS = 100;
const PER_MS = { ns: 1e6, µs: 1e3, ms: 1 } as const;

/** Checks every codec of a suite, then times them in turns. */
export function measure<T>(suite: Suite<T>, samples: number): Findings["tests"][number] {
  const works = suite.codecs.map((codec) => prepare(suite, codec));
  // Engines compile in a separate thread, which may be slow on a busy machine. So all codecs run once before
  // any of them is timed.
  for (const { encode, decode } of works) for (const work of [encode, decode]) repeatsFor(work);
  const runs = works.map((work): Run => {
    return { ...work, encodeRepeats: repeatsFor(work.encode), decodeRepeats: repeatsFor(work.decode) };
  });
  for (let round = 0; round < samples * SAMPLES_FACTOR; round++) {
    for (const run of runs) {
      run.row.encode.push(time(run.encode, run.encodeRepeats) * PER_MS[suite.unit]);
      run.row.decode.push(time(run.decode, run.decodeRepeats) * PER_MS[suite.unit]);
    }
  }
  return { title: suite.title, unit: suite.unit, rows: runs.map((run) => run.row) };
}

/** Whether a test was requested. */
export function wants(task: Task, test: string): boolean {
  return task.only.length === 0 || task.only.includes(test);
}

interface Work {
  readonly row: Row;
  readonly encode: () => unknown;
  readonly decode: () => unknown;
}

interface Run extends Work {
  readonly encodeRepeats: number;
  readonly decodeRepeats: number;
}

function prepare<T>(suite: Suite<T>, codec: Codec<T>): Work {
  // This is a copy, because an encoder may return a view of a buffer that it reuses.
  const first = codec.encode(suite.value);
  const encoded = typeof first === "string" ? first : first.slice();
  const difference = firstDifference(suite.value, codec.decode(encoded), "value", suite.single);
  if (difference !== undefined) {
    throw new Error(`${codec.name} does not return ${suite.title} as it was: ${difference}`);
  }
  const body = hex(typeof encoded === "string" ? new TextEncoder().encode(encoded) : encoded);
  return {
    row: { codec: codec.name, body, encode: [], decode: [] },
    encode: () => codec.encode(suite.value),
    decode: () => codec.decode(encoded),
  };
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Results are stored here, so that engines cannot optimise the work away. */
export const sink: { last: unknown } = { last: undefined };

function repeatsFor(work: () => unknown): number {
  let count = 0;
  const start = performance.now();
  let elapsed = 0;
  while (elapsed < WARM_UP_MS) {
    sink.last = work();
    count++;
    elapsed = performance.now() - start;
  }
  return Math.max(1, Math.round((count * SAMPLE_MS) / elapsed));
}

/** The duration of one call in milliseconds. */
function time(work: () => unknown, repeats: number): number {
  const start = performance.now();
  for (let i = 0; i < repeats; i++) sink.last = work();
  return (performance.now() - start) / repeats;
}

/** The first difference of two values, if any; `single` compares numbers as 32-bit floats. */
export function firstDifference(
  expected: unknown,
  found: unknown,
  path: string,
  single = false,
): string | undefined {
  if (Object.is(expected, found)) return undefined;
  if (single && typeof expected === "number" && typeof found === "number") {
    if (Math.fround(expected) === Math.fround(found)) return undefined;
  }
  if (typeof expected !== "object" || typeof found !== "object" || expected === null || found === null) {
    return `${path} is ${String(found)} instead of ${String(expected)}`;
  }
  const [left, right] = [plain(expected), plain(found)];
  const extra = Object.keys(right).find((key) => !Object.hasOwn(left, key));
  if (extra !== undefined) return `${path}.${extra} is new`;
  for (const key of Object.keys(left)) {
    // Generated classes store defaults in the prototype, so inherited properties count, too.
    const difference = firstDifference(left[key], right[key], `${path}.${key}`, single);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

function plain(value: object): Readonly<Record<string, unknown>> {
  return (value instanceof Map ? Object.fromEntries(value) : value) as Readonly<Record<string, unknown>>;
}
