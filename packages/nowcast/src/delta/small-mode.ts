import { WireError } from "../errors/nowcast-error.js";
import { Expectations, level, log } from "./expectations.js";
import type { DeltaGuess } from "./guess.js";
import type { RangeCoder } from "./range-coder.js";
import { bitLength, limitedStep, sixteenths, sizeOf } from "./scale.js";
import type { Situation } from "./situation.js";
import { CLASSES, choiceNodes, MOVING, numberNodes, type SmallModels, STILL } from "./small-models.js";
import { Switches } from "./switches.js";
import type { Symbols } from "./symbols.js";

/**
 * The decisions that code a number: whether it has more bits, the two bits below the highest, and
 * the sign.
 */
const BITS_MAX = 11;
const BELOW = 12;
const BELOW_THAT = 16;
const SIGN = 18;

/** The smallest size of each magnitude, as a level. */
const LEVELS_OF_DOUBT = Float64Array.from({ length: 32 }, (_, at) =>
  level(at < 4 ? at : (2 + (at & 1)) << ((at >> 1) - 1)),
);

/**
 * Codes decisions with learnt probabilities for each context, and an arithmetic coder
 * (`spec/DELTA.md`, section 9).
 */
export class SmallSymbols implements Symbols {
  readonly hasMask = false;
  readonly #coder: RangeCoder;
  readonly #switches: Switches;
  readonly #expectations: Expectations;
  readonly #width: number;

  constructor(coder: RangeCoder, { nodes, expectations }: SmallModels, width: number) {
    this.#coder = coder;
    this.#switches = new Switches(coder, nodes);
    this.#expectations = new Expectations(expectations);
    this.#expectations.check();
    this.#expectations.inputs.fill(level(0), 5);
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

  changed({ changed, flags, near, speed }: Situation, bit: number): number {
    const node = changed === 0 ? STILL + ((near & 7) << 2) : MOVING + (sizeOf(speed) << 2);
    return this.#switches.decide(node | flags, bit);
  }

  flag(column: number, { value }: DeltaGuess, { changed }: Situation, residual: number): number {
    return this.#switches.decide(choiceNodes(column, ((changed & 7) << 2) | (value & 3)), residual);
  }

  largest(column: number, { doubt }: DeltaGuess, _: Situation, residual: number): number {
    const nodes = choiceNodes(column, doubt & 31);
    if (this.#switches.decide(nodes, residual === 0 ? 0 : 1) === 0) return 0;
    if (this.#switches.decide(nodes + 1, residual > 1 ? 1 : 0) === 0) return 1;
    return 2 + this.plain(residual - 2, 1);
  }

  number(
    column: number,
    group: number,
    { lean, doubt, moved }: DeltaGuess,
    { error, rowError }: Situation,
    residual: number,
  ): number {
    const { inputs } = this.#expectations;
    inputs[1] = level(error);
    inputs[2] = level(rowError);
    inputs[3] = LEVELS_OF_DOUBT[doubt & 31]!;
    inputs[4] = level(4 * limitedStep(moved));
    const expected = this.#expectations.expect(column);
    // The sign is coded relative to the direction of motion, so that it says whether the guess was
    // too far or too short.
    const direction = moved > 0 ? -1 : 1;
    const coded = this.#signed((direction * residual) | 0, group, classOf(expected), direction * lean);
    const found = log(sixteenths(coded));
    this.#expectations.learn(column, found - expected);
    inputs[7] = inputs[6]!;
    inputs[6] = inputs[5]!;
    inputs[5] = found - 6;
    return (direction * coded) | 0;
  }

  /**
   * Codes a number of an expected size: the number of its bits beyond the expected size, the bits below its
   * highest bit, and its sign.
   */
  #signed(value: number, group: number, ofClass: number, lean: number): number {
    const nodes = numberNodes(this.#width, group, ofClass);
    const noise = Math.max(((ofClass + 1) >> 1) - 4, 0);
    const size = Math.abs(value);
    const bits = this.#bits(nodes, bitLength(size >>> noise), 32 - noise);
    let found = bits === 0 ? 0 : 1;
    let left = bits === 0 ? noise : noise + bits - 1;
    if (left > 0) {
      left--;
      found = (found << 1) | this.#switches.decide(nodes + BELOW + Math.min(bits, 3), (size >>> left) & 1);
    }
    if (bits > 1 && left > 0) {
      left--;
      found = (found << 1) | this.#switches.decide(nodes + BELOW_THAT + (found & 1), (size >>> left) & 1);
    }
    // This multiplies instead of shifting, because a signed shift has only 31 bits for the
    // magnitude.
    if (left > 0) found = found * 2 ** left + this.plain(size & (2 ** left - 1), left);
    if (found === 0) return 0;
    const sign = nodes + SIGN + 2 * (lean + 1) + Math.min(bits, 1);
    const isNegative = this.#switches.decide(sign, value < 0 ? 1 : 0);
    if (found > 0x7fff_ffff && (isNegative === 0 || found > 0x8000_0000))
      throw new WireError("a number beyond 32 bits", this.#coder.at);
    return isNegative === 1 ? -found : found;
  }

  /** Codes the number of bits beyond the expected ones. */
  #bits(nodes: number, actual: number, most: number): number {
    let bits = 0;
    while (
      bits < most &&
      this.#switches.decide(nodes + Math.min(bits, BITS_MAX), actual > bits ? 1 : 0) === 1
    )
      bits++;
    return bits;
  }
}

/** The half octave of a logarithm; the first one if the logarithm is NaN. */
function classOf(expected: number): number {
  return expected > 0 ? Math.floor(Math.min(2 * expected + 0.5, CLASSES - 1)) : 0;
}
