import type { RangeCoder } from "./range-coder.js";

/** `spec/DELTA.md`, section 9.2: decisions whose probabilities are learnt, alone or from four contexts at once. */

const LOGISTIC = [
  22, 36, 60, 98, 162, 267, 439, 720, 1179, 1921, 3108, 4971, 7812, 11955, 17625, 24743, 32768, 40793, 47911,
  53581, 57724, 60565, 62428, 63615, 64357, 64816, 65097, 65269, 65374, 65438, 65476, 65500, 65514,
];
const PROBABILITY_MIN = 32;
const PROBABILITY_MAX = 65_504;
const TRUST_MAX = 2_047;
const WEIGHT_MAX = 262_143;
const SEEN_MAX = 120;

const SQUASH = Int32Array.from({ length: 4096 }, (_, at) => {
  const step = at >> 7;
  const rest = at & 127;
  return limit((LOGISTIC[step]! * (128 - rest) + LOGISTIC[step + 1]! * rest) >> 7);
});

const STRETCH = Int32Array.from({ length: 4096 }, (_, set) => {
  const at = SQUASH.findIndex((probability) => probability >= 16 * set + 8);
  return (at < 0 ? 4095 : at) - 2048;
});

const RATE = Int32Array.from({ length: SEEN_MAX + 1 }, (_, seen) => Math.floor(65_536 / (2 * seen + 3)));

function limit(probability: number): number {
  if (probability < PROBABILITY_MIN) return PROBABILITY_MIN;
  return probability > PROBABILITY_MAX ? PROBABILITY_MAX : probability;
}

/** A node (see `SmallModels`) that has seen one more bit. */
function learnt(node: number, bit: number): number {
  const set = node >> 7;
  const seen = node & 127;
  const next = set + (((65_535 * bit - set) * RATE[seen]!) >> 15);
  return (next << 7) | (seen < SEEN_MAX ? seen + 1 : seen);
}

export class Mixer {
  constructor(
    readonly coder: RangeCoder,
    readonly nodes: Int32Array,
    readonly weights: Int32Array,
  ) {}

  /** A decision by one node alone. */
  switch(at: number, bit: number): number {
    const node = this.nodes[at]!;
    const coded = this.coder.bit(bit, limit(node >> 7));
    this.nodes[at] = learnt(node, coded);
    return coded;
  }

  /** A decision by the nodes at `a` to `d`, mixed by the four weights at `w`. */
  mixed(a: number, b: number, c: number, d: number, w: number, bit: number): number {
    const { nodes, weights } = this;
    const nodeA = nodes[a]!;
    const nodeB = nodes[b]!;
    const nodeC = nodes[c]!;
    const nodeD = nodes[d]!;
    const trustA = STRETCH[nodeA >> 11]!;
    const trustB = STRETCH[nodeB >> 11]!;
    const trustC = STRETCH[nodeC >> 11]!;
    const trustD = STRETCH[nodeD >> 11]!;
    const trust =
      (weights[w]! * trustA +
        weights[w + 1]! * trustB +
        weights[w + 2]! * trustC +
        weights[w + 3]! * trustD) >>
      16;
    const set = SQUASH[(trust > TRUST_MAX ? TRUST_MAX : trust < -TRUST_MAX ? -TRUST_MAX : trust) + 2048]!;
    const coded = this.coder.bit(bit, set);
    const off = 65_535 * coded - set;
    this.#weigh(w, trustA, off);
    this.#weigh(w + 1, trustB, off);
    this.#weigh(w + 2, trustC, off);
    this.#weigh(w + 3, trustD, off);
    nodes[a] = learnt(nodeA, coded);
    nodes[b] = learnt(nodeB, coded);
    nodes[c] = learnt(nodeC, coded);
    nodes[d] = learnt(nodeD, coded);
    return coded;
  }

  #weigh(at: number, trust: number, off: number): void {
    const weight = this.weights[at]! + ((trust * off + 8192) >> 14);
    this.weights[at] = weight > WEIGHT_MAX ? WEIGHT_MAX : weight < -WEIGHT_MAX ? -WEIGHT_MAX : weight;
  }
}
