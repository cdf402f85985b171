/** Source maps with one place for each line. Luau reports lines only, so the places inside of a line are left out. */

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

interface SourceMap {
  readonly mappings: string;
}

/**
 * Returns the last line of a module: its source map.
 *
 * @param map a source map, version 3, of one source
 * @param source the source, relative to the module
 * @param linesBefore the number of lines that were put before the text of the map
 */
export function mapLine(map: string, source: string, linesBefore: number): string {
  const { mappings } = JSON.parse(map) as SourceMap;
  const short = {
    version: 3,
    sources: [source],
    names: [],
    mappings: ";".repeat(linesBefore) + perLine(mappings),
  };
  const encoded = Buffer.from(JSON.stringify(short)).toString("base64");
  return `--# sourceMappingURL=data:application/json;base64,${encoded}`;
}

/** Returns mappings with the first place of each line. */
export function perLine(mappings: string): string {
  let [source, line, column] = [0, 0, 0];
  let [lastLine, lastColumn] = [0, 0];
  return mappings
    .split(";")
    .map((segments) => {
      let first: string | undefined;
      for (const segment of segments.split(",")) {
        const numbers = decode(segment);
        if (numbers.length < 4) continue;
        source += numbers[1]!;
        line += numbers[2]!;
        column += numbers[3]!;
        if (first !== undefined || source !== 0) continue;
        first = [0, 0, line - lastLine, column - lastColumn].map(encode).join("");
        [lastLine, lastColumn] = [line, column];
      }
      return first ?? "";
    })
    .join(";");
}

function decode(segment: string): number[] {
  const numbers: number[] = [];
  let [value, scale] = [0, 1];
  for (const letter of segment) {
    const digit = DIGITS.indexOf(letter);
    value += (digit & 31) * scale;
    scale *= 32;
    if ((digit & 32) !== 0) continue;
    numbers.push(value % 2 === 0 ? value / 2 : -(value - 1) / 2);
    [value, scale] = [0, 1];
  }
  return numbers;
}

function encode(number: number): string {
  let rest = number < 0 ? -number * 2 + 1 : number * 2;
  let text = "";
  do {
    const digit = rest % 32;
    rest = (rest - digit) / 32;
    text += DIGITS[rest > 0 ? digit + 32 : digit]!;
  } while (rest > 0);
  return text;
}
