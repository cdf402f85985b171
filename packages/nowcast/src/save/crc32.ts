/** CRC-32 as in zlib (IEEE 802.3, reflected), four table steps at a time. */
const TABLES = makeTables();

export function crc32(bytes: Uint8Array): number {
  const [t0, t1, t2, t3] = TABLES as [Uint32Array, Uint32Array, Uint32Array, Uint32Array];
  let crc = 0xffff_ffff;
  let i = 0;
  for (; i + 4 <= bytes.length; i += 4) {
    crc ^= bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
    crc = t3[crc & 0xff]! ^ t2[(crc >>> 8) & 0xff]! ^ t1[(crc >>> 16) & 0xff]! ^ t0[crc >>> 24]!;
  }
  for (; i < bytes.length; i++) crc = t0[(crc ^ bytes[i]!) & 0xff]! ^ (crc >>> 8);
  return (crc ^ 0xffff_ffff) >>> 0;
}

function makeTables(): Uint32Array[] {
  const tables = Array.from({ length: 4 }, () => new Uint32Array(256));
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb8_8320 : crc >>> 1;
    tables[0]![byte] = crc;
  }
  for (let table = 1; table < 4; table++) {
    for (let byte = 0; byte < 256; byte++) {
      const before = tables[table - 1]![byte]!;
      tables[table]![byte] = (before >>> 8) ^ tables[0]![before & 0xff]!;
    }
  }
  return tables;
}
