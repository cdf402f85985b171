/** The types of values that rules work with, besides the API: vectors, attributes, events, timers. */

/// <reference types="@typescript-to-lua/language-extensions" />

/** Three numbers. A vector never changes: every method returns a new one. `a === b` compares the numbers. */
interface Vector {
  readonly x: number;
  readonly y: number;
  readonly z: number;
  /** The sum. */
  readonly add: LuaAdditionMethod<Vector, Vector>;
  /** The difference. */
  readonly sub: LuaSubtractionMethod<Vector, Vector>;
  /** Multiplies by a number, or component by component by a vector. */
  readonly mul: LuaMultiplicationMethod<Vector | number, Vector>;
  /** Divides by a number, or component by component by a vector. */
  readonly div: LuaDivisionMethod<Vector | number, Vector>;
  /** The vector in the opposite direction. */
  readonly unm: LuaNegationMethod<Vector>;
}

/** Makes vectors, and computes with them. */
declare namespace vector {
  /** (0, 0, 0) */
  const zero: Vector;
  /** (1, 1, 1) */
  const one: Vector;
  function create(this: void, x: number, y: number, z: number): Vector;
  /** The length. */
  function magnitude(this: void, a: Vector): number;
  /** The vector of length 1 in the same direction. */
  function normalize(this: void, a: Vector): Vector;
  function dot(this: void, a: Vector, b: Vector): number;
  function cross(this: void, a: Vector, b: Vector): Vector;
  /** The angle in radians; with an axis, its sign is that of the turn about the axis. */
  function angle(this: void, a: Vector, b: Vector, axis?: Vector): number;
  function floor(this: void, a: Vector): Vector;
  function ceil(this: void, a: Vector): Vector;
  function abs(this: void, a: Vector): Vector;
  function sign(this: void, a: Vector): Vector;
  function clamp(this: void, a: Vector, min: Vector, max: Vector): Vector;
  function max(this: void, a: Vector, ...more: Vector[]): Vector;
  function min(this: void, a: Vector, ...more: Vector[]): Vector;
}

/** Writes to the server's log, to the console of the page, and to the output of a failed test. Tables show their contents. */
declare function print(this: void, ...values: unknown[]): void;

declare module "@nowcast/world" {
  type NumberName = "u8" | "u16" | "u32" | "u64" | "i8" | "i16" | "i32" | "i64" | "f32" | "f64" | "number";
  type PlainName =
    | NumberName
    | "bool"
    | "boolean"
    | "text"
    | "string"
    | "entity"
    | "player"
    | "vector"
    | "any";

  /** The name of a type of attributes. A type that ends in `?` may be undefined. */
  export type TypeName = PlainName | `${PlainName}?`;

  /** The type of an attribute, of an argument of an action, or of a field of an event. */
  export type AttributeType =
    | TypeName
    | {
        readonly type: TypeName;
        /** With `min`, `max` and `step`, the value is rounded to a whole number of steps, and costs fewer bytes. */
        readonly min?: number;
        readonly max?: number;
        readonly step?: number;
        /** The first value. */
        readonly default?: unknown;
        /** Earlier names of the attribute, whose values it takes over. */
        readonly formerly?: string | readonly string[];
      };

  export type AttributeTypes = { readonly [name: string]: AttributeType };

  /** The attributes of walkers whose kind has `adjustable = true`. */
  type Adjusted = { readonly speed: "f32"; readonly jump: "f32"; readonly frozen: "bool" };

  type PlainValue<N> = N extends "bool" | "boolean"
    ? boolean
    : N extends "text" | "string"
      ? string
      : N extends "entity"
        ? Entity
        : N extends "player"
          ? Player
          : N extends "vector"
            ? Vector
            : N extends NumberName
              ? number
              : any;
  type NamedValue<N> = N extends `${infer P}?` ? PlainValue<P> | undefined : PlainValue<N>;

  /** The value of a type. */
  export type ValueOf<T> = T extends { readonly type: infer N } ? NamedValue<N> : NamedValue<T>;

  type IsAny<T> = 0 extends 1 & T ? true : false;

  /** The values of attributes, arguments or fields. Those that may be undefined may be missing. */
  export type Values<A> =
    IsAny<A> extends true
      ? { [name: string]: any }
      : {
          -readonly [K in keyof A as undefined extends ValueOf<A[K]> ? never : K]: ValueOf<A[K]>;
        } & { -readonly [K in keyof A as undefined extends ValueOf<A[K]> ? K : never]?: ValueOf<A[K]> };

  /** An entity of a kind with these attributes. */
  export type EntityOf<A> = Entity & Values<A>;

  /** The fields of `player.saved`. A world declares them: `declare module "@nowcast/world" { interface Saved { coins: number } }`. */
  export interface Saved {}

  /** `world.state({ score: 0 })` declares first values, and returns the state with their types. */
  export interface StateOfWorld {
    <T extends object>(this: void, first: T): T;
    [name: string]: any;
  }

  /** Which players see an entity. */
  export type Interest = { radius: number } | "always" | "never" | "owner";

  /** The functions of `world.on`. */
  export interface WorldHooks {
    start: (this: void) => void;
    step: (this: void, dt: number) => void;
    join: (this: void, player: Player) => void;
    arrive: (this: void, player: Player, data: any, from: string) => void;
    leave: (this: void, player: Player) => void;
    program_join: (this: void, player: Player) => void;
    program_leave: (this: void, player: Player) => void;
    message: (this: void, player: Player, text: string) => boolean | void;
    upgrade: (this: void, from: number | undefined) => void;
  }

  /** The functions of `Kind.on`. */
  export interface KindHooks<A> {
    step: (this: void, entity: EntityOf<A>, dt: number) => void;
    contact: (this: void, entity: EntityOf<A>, other: Entity, impulse: number) => void;
    contact_end: (this: void, entity: EntityOf<A>, other: Entity) => void;
    own: (this: void, entity: EntityOf<A>, player: Player) => boolean | void;
    release: (this: void, entity: EntityOf<A>, player: Player) => void;
  }

  const payload: unique symbol;

  /** The name of an event, which `world.event` returns. */
  export type EventName<D> = string & { readonly [payload]: (data: D) => D };

  const declared: unique symbol;

  /** A name with the types that were declared for it, which programs of clients read by `WorldTypesOf`. */
  export type Declared<W extends "action" | "event", A extends AttributeTypes, N extends string> = string & {
    readonly [declared]: { readonly [K in W]: { readonly name: N; readonly types: A } };
  };

  /** The name of an action, which `world.action` returns. */
  export type ActionName<A extends AttributeTypes, N extends string> = Declared<"action", A, N>;

  type SentPlain<N> = N extends "bool" | "boolean"
    ? boolean
    : N extends "text" | "string"
      ? string
      : N extends "vector"
        ? [number, number, number]
        : N extends "u64" | "i64"
          ? number | bigint
          : N extends NumberName | "entity" | "player"
            ? number
            : unknown;
  type SentNamed<N> = N extends `${infer P}?` ? SentPlain<P> | null : SentPlain<N>;
  type Sent<A> = {
    -readonly [K in keyof A]: SentNamed<A[K] extends { readonly type: infer N } ? N : A[K]>;
  };
  type Declarations<M, W extends "action" | "event"> = {
    [K in keyof M as M[K] extends Declared<W, any, infer N> ? N : never]: M[K] extends Declared<W, infer A, any>
      ? Sent<A>
      : never;
  };

  /**
   * The kinds, actions and events that a world's module exports, as programs of clients see them:
   * `joinWorld<WorldTypesOf<typeof import("./world")>>(address)`.
   */
  export type WorldTypesOf<M> = {
    kinds: {
      [K in keyof M as M[K] extends Kind<any, infer N> ? N : never]: M[K] extends Kind<infer A> ? Sent<A> : never;
    };
    actions: Declarations<M, "action">;
    events: Declarations<M, "event">;
  };

  /** The name of a timer, which `world.timer` returns. */
  export type TimerName<D> = string & { readonly [payload]: (data: D) => D };

  /** The data of an event; any for a name that was not declared. */
  export type EventData<N> = N extends EventName<infer D> ? D : any;

  /** The data of a timer, which may be missing if the timer's function takes none. */
  export type TimerData<N> =
    N extends TimerName<infer D> ? (undefined extends D ? [data?: D] : [data: D]) : [data?: any];

  /** An argument of a command. */
  export interface CommandArgument {
    readonly name: string;
    readonly type: CommandTypeName | `${CommandTypeName}?`;
    readonly min?: number;
    readonly max?: number;
    readonly one_of?: readonly string[];
    readonly default?: string | number | boolean;
  }
  type CommandTypeName = "text" | "number" | "integer" | "bool" | "player";

  type CommandPlain<N> = N extends "text"
    ? string
    : N extends "number" | "integer"
      ? number
      : N extends "bool"
        ? boolean
        : Player;
  type CommandValue<C> = C extends { readonly type: infer N }
    ? N extends `${infer P}?`
      ? CommandPlain<P> | undefined
      : CommandPlain<N>
    : never;

  /** The values of the arguments of a command, in their order. */
  export type CommandValues<C> = C extends readonly CommandArgument[]
    ? { -readonly [K in keyof C]: CommandValue<C[K]> }
    : never;

  /** A bot of a test. Its avatar exists if the rules spawn one when a player joins. */
  export type TestPlayer = Player & { avatar: EntityOf<any> };
}
