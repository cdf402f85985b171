/** A codec under test. */
export interface Codec<T> {
  readonly name: string;
  encode(value: T): Uint8Array | string;
  decode(encoded: Uint8Array | string): T;
}

/** One table: a value and the codecs that encode it. The first codec is the reference for speeds. */
export interface Suite<T> {
  readonly test: "messages" | "movement" | "save";
  readonly title: string;
  readonly unit: "ns" | "µs" | "ms";
  readonly value: T;
  /** Whether numbers are encoded as 32-bit floats, so that the last digits of the result do not count. */
  readonly single?: boolean;
  readonly codecs: readonly Codec<T>[];
}

/** The measurements of one codec; times are in the unit of the test. */
export interface Row {
  readonly codec: string;
  /** The written bytes, in hexadecimal. The program that runs the bench compresses them. */
  readonly body: string;
  readonly encode: number[];
  readonly decode: number[];
}

/** The output of the program. */
export interface Findings {
  readonly engine: string;
  readonly notes: string[];
  readonly tests: { readonly title: string; readonly unit: string; readonly rows: Row[] }[];
}

/** One entity of the movement stream. */
export interface Move {
  id: number;
  positionX: number;
  positionY: number;
  positionZ: number;
  eulerX: number;
  eulerY: number;
  eulerZ: number;
}

/** The input of the script. */
export interface Task {
  readonly samples: number;
  readonly only: readonly string[];
  readonly moves: Move[];
  readonly save: unknown;
}
