/**
 * A complete implementation of MessagePack
 * (https://github.com/msgpack/msgpack/blob/master/spec.md).
 *
 * Integers that a double holds exactly are numbers, others bigints. A map is a plain object if all its keys are
 * strings, otherwise a `Map`. Floats are decoded to numbers, so 1.0 and 1 are the same value.
 */
export type MsgpackValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | MsgpackExtension
  | MsgpackTimestamp
  | readonly MsgpackValue[]
  | ReadonlyMap<MsgpackValue, MsgpackValue>
  | { readonly [key: string]: MsgpackValue | undefined };

/** An application's own type, passed through unchanged. */
export class MsgpackExtension {
  constructor(
    /** −128 to 127. The MessagePack specification reserves negative types. */
    readonly type: number,
    readonly data: Uint8Array,
  ) {}
}

/** Extension type −1: a point in time with nanoseconds, which a `Date` would lose. */
export class MsgpackTimestamp {
  constructor(
    /** Seconds since 1970; may be negative. */
    readonly seconds: bigint,
    /** 0 to 999,999,999. */
    readonly nanoseconds: number,
  ) {}
}

/** Default limit of nested arrays and maps. */
export const DEPTH_MAX = 128;

/** Whether an object holds named values. A `Date`, a `Set` and other objects of the language keep theirs elsewhere. */
export function holdsNamedValues(value: object): boolean {
  return Object.prototype.toString.call(value) === "[object Object]";
}

/** The name of an object's class, for errors. */
export function className(value: object): string {
  return Object.prototype.toString.call(value).slice("[object ".length, -1);
}
