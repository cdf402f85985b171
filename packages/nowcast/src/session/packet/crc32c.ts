/** The checksum that ends every packet on carriers that may change bytes. */
export const CHECKSUM_BYTES = 4;

const POLYNOMIAL = 0x82f63b78; // 0x1EDC6F41 reflected

const table = Uint32Array.from({ length: 256 }, (_, index) => {
  let remainder = index;
  for (let bit = 0; bit < 8; bit++) remainder = (remainder >>> 1) ^ (remainder & 1 ? POLYNOMIAL : 0);
  return remainder >>> 0;
});

/** CRC-32C (Castagnoli), which ends every packet on carriers that may change bytes. */
export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ table[(crc ^ byte) & 0xff]!;
  return (crc ^ 0xffffffff) >>> 0;
}

/**
 * Returns a packet without its checksum; `undefined` if the checksum is wrong or the packet has no
 * other bytes.
 */
export function unseal(bytes: Uint8Array): Uint8Array | undefined {
  if (bytes.length === 0) return bytes;
  const end = bytes.length - CHECKSUM_BYTES;
  if (end < 0) return undefined;
  const sum = new DataView(bytes.buffer, bytes.byteOffset + end, CHECKSUM_BYTES).getUint32(0, true);
  const body = bytes.subarray(0, end);
  return crc32c(body) === sum ? body : undefined;
}
