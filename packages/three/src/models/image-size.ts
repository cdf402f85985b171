/**
 * Reads the width and height of a PNG, JPEG or WebP from its first bytes, without decoding it; `undefined`
 * for other data.
 */
export function readImageSize(bytes: Uint8Array): readonly [number, number] | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length >= 24 && view.getUint32(0) === 0x89504e47 && view.getUint32(12) === 0x49484452) {
    return [view.getUint32(16), view.getUint32(20)];
  }
  if (bytes.length >= 4 && view.getUint16(0) === 0xffd8) return readJpegSize(view);
  if (bytes.length >= 30 && view.getUint32(0) === 0x52494646 && view.getUint32(8) === 0x57454250) {
    return readWebpSize(view);
  }
  return undefined;
}

/** The frame header (ITU T.81, B.2.2) follows segments, each of which states its length. */
function readJpegSize(view: DataView): readonly [number, number] | undefined {
  let at = 2;
  while (at + 9 <= view.byteLength) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    if (marker === 0xff) {
      at++;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return [view.getUint16(at + 7), view.getUint16(at + 5)];
    at += 2 + Math.max(2, view.getUint16(at + 2));
  }
  return undefined;
}

/** RFC 9649, sections 2.5 to 2.7. */
function readWebpSize(view: DataView): readonly [number, number] | undefined {
  switch (view.getUint32(12)) {
    case 0x56503820:
      return [view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff];
    case 0x5650384c: {
      const bits = view.getUint32(21, true);
      return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
    }
    case 0x56503858:
      return [1 + readUint24(view, 24), 1 + readUint24(view, 27)];
    default:
      return undefined;
  }
}

function readUint24(view: DataView, at: number): number {
  return view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
}
