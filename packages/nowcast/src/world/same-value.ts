/** Deeper nested values count as different; worlds' values have 16 levels at most. */
const DEPTH_MAX = 64;

/** Whether two values that came as MessagePack, JSON or bodies of shapes say the same. */
export function isSameValue(a: unknown, b: unknown, depth = 0): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (depth > DEPTH_MAX || Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  const [left, right] = [entriesOf(a), entriesOf(b)];
  if (left.length !== right.length) return false;
  return left.every(([key, value], at) => {
    const [otherKey, other] = right[at]!;
    return isSameValue(key, otherKey, depth + 1) && isSameValue(value, other, depth + 1);
  });
}

/** In the order written: another order counts as another value. */
function entriesOf(value: object): readonly (readonly [unknown, unknown])[] {
  return value instanceof Map ? [...value] : Object.entries(value);
}
