import { WireError } from "../errors.js";
import { Mixer } from "./mixer.js";
import type { DeltaGuess } from "./predict.js";
import type { RangeCoder } from "./range-coder.js";
import { bitLength, limitedStep, sizeOf } from "./scale.js";
import type { Situation } from "./situation.js";
import {
  CHANGED,
  CHOICE,
  choiceNodes,
  choiceWeights,
  DECISIONS,
  MIXED,
  NUMBER,
  numberNodes,
  numberWeights,
  type SmallModels,
} from "./small-models.js";
import type { Symbols } from "./symbols.js";

/** The decisions that a number is made of: one node and one set of weights for each. */
const UP = 0;
const DOWN = 12;
const SIGN = 24;
const SECOND = 25;
const THIRD = 30;
const WIDTHS = 11;
const WIDTH_MAX = 32;

/** Adaptive contexts and an arithmetic coder (`spec/DELTA.md`, section 9). */
export class SmallSymbols implements Symbols {
  readonly hasMask = false;
  readonly #coder: RangeCoder;
  readonly #mixer: Mixer;
  readonly #width: number;
  /** The four contexts and the weights of the number at hand, each at its decision 0. */
  #a = 0;
  #b = 0;
  #c = 0;
  #d = 0;
  #w = 0;

  constructor(coder: RangeCoder, { nodes, weights }: SmallModels, width: number) {
    this.#coder = coder;
    this.#mixer = new Mixer(coder, nodes, weights);
    this.#width = width;
  }

  get at(): number {
    return this.#coder.at;
  }

  plain(value: number, count: number): number {
    let found = 0;
    for (let at = count - 1; at >= 0; at--)
      found = (found << 1) | this.#coder.bit((value >>> at) & 1, 32_768);
    return found >>> 0;
  }

  changed(situation: Situation, bit: number): number {
    const { changed, flags } = situation;
    const near = situation.near & 7;
    if (changed === 0) return this.#mixer.switch(CHANGED.still + ((near << 2) | flags), bit);
    return this.#mixer.mixed(
      CHANGED.changes + (((changed & 7) << 2) | flags),
      CHANGED.speed + ((sizeOf(situation.speed) << 2) | flags),
      CHANGED.near + ((near << 4) | ((changed & 1) << 3) | ((changed >> 3) & 7)),
      CHANGED.doubt + ((Math.min(situation.doubtRow, 23) << 1) | (changed & 1)),
      0,
      bit,
    );
  }

  flag(column: number, guess: DeltaGuess, situation: Situation, residual: number): number {
    return this.#choice(column, guess, situation, 0, residual);
  }

  largest(column: number, guess: DeltaGuess, situation: Situation, residual: number): number {
    if (this.#choice(column, guess, situation, 0, residual === 0 ? 0 : 1) === 0) return 0;
    if (this.#choice(column, guess, situation, 1, residual > 1 ? 1 : 0) === 0) return 1;
    return 2 + this.plain(residual - 2, 1);
  }

  #choice(
    column: number,
    guess: DeltaGuess,
    { changed, error, speed }: Situation,
    decision: number,
    bit: number,
  ): number {
    const nodes = choiceNodes(column) + decision;
    return this.#mixer.mixed(
      nodes + CHOICE.changes + 2 * (((changed & 7) << 2) | (guess.value & 3)),
      nodes + CHOICE.doubt + 2 * guess.doubt,
      nodes + CHOICE.error + 2 * sizeOf(error),
      nodes + CHOICE.speed + 2 * sizeOf(speed),
      choiceWeights(column),
      bit,
    );
  }

  number(
    _column: number,
    group: number,
    { lean, doubt, moved }: DeltaGuess,
    { error, rowError }: Situation,
    residual: number,
  ): number {
    // Seen along the direction of motion, too far and too short are told apart.
    const direction = moved > 0 ? -1 : 1;
    const nodes = numberNodes(this.#width, group);
    this.#a = nodes + NUMBER.error + DECISIONS * sizeOf(error);
    this.#b = nodes + NUMBER.rowError + DECISIONS * (3 * sizeOf(rowError) + direction * lean + 1);
    this.#c = nodes + NUMBER.doubt + DECISIONS * (doubt < 23 ? doubt : 23);
    this.#d = nodes + NUMBER.moved + DECISIONS * sizeOf(4 * limitedStep(moved));
    this.#w = numberWeights(this.#width, group);
    const expected = Math.min(bitLength(Math.floor((3 * error + rowError) / 64)), 15);
    return (direction * this.#signed((direction * residual) | 0, expected)) | 0;
  }

  /** A number as its width (coded as the way from the expected one), its sign, and the bits below its highest. */
  #signed(value: number, expected: number): number {
    const size = Math.abs(value);
    const width = this.#widthOf(bitLength(size), expected);
    if (width === 0) return 0;
    const isNegative = this.#decide(SIGN, value < 0 ? 1 : 0);
    let found = 1;
    const level = Math.min(width - 1, 5) - 1;
    if (width > 1) {
      const second = this.#mixer.switch(this.#a + SECOND + level, (size >>> (width - 2)) & 1);
      found = 2 | second;
      if (width > 2) {
        const third = this.#a + THIRD + 2 * level + second;
        found = (found << 1) | this.#mixer.switch(third, (size >>> (width - 3)) & 1);
      }
      // Multiplied, not shifted, because 32 bits are one too many for a signed shift.
      if (width > 3) found = found * 2 ** (width - 3) + this.plain(size & (2 ** (width - 3) - 1), width - 3);
    }
    if (found > 0x7fff_ffff && (isNegative === 0 || found > 0x8000_0000))
      throw new WireError("a number beyond 32 bits", this.#coder.at);
    return isNegative === 1 ? -found : found;
  }

  #widthOf(actual: number, expected: number): number {
    let width = expected;
    if (this.#decide(UP + Math.min(width, WIDTHS), actual > width ? 1 : 0) === 1) {
      width++;
      while (width < WIDTH_MAX && this.#decide(UP + Math.min(width, WIDTHS), actual > width ? 1 : 0) === 1)
        width++;
    } else {
      while (width > 0 && this.#decide(DOWN + Math.min(width, WIDTHS), actual < width ? 1 : 0) === 1) width--;
    }
    return width;
  }

  #decide(decision: number, bit: number): number {
    return this.#mixer.mixed(
      this.#a + decision,
      this.#b + decision,
      this.#c + decision,
      this.#d + decision,
      this.#w + MIXED * decision,
      bit,
    );
  }
}
