/** Values that are nested deeper than this count as different. Values of worlds have at most 16 levels. */
const DEPTH_MAX = 64;

/** Whether two values that were decoded from MessagePack, JSON or bodies of shapes are equal. */
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

/** Maps are compared in the order of their keys: another order counts as another value. */
function entriesOf(value: object): readonly (readonly [unknown, unknown])[] {
  return value instanceof Map ? [...value] : Object.entries(value);
}
