/** The list of a world's files. An invalid list is rejected before a page fetches any of its files. */
import type { Asset } from "./world.js";

/** `spec/WORLD.md`, section 6. */
export const ASSETS_MAX = 256;
const ASSET_BYTES_MAX = 16 * 1024 * 1024;
const NAME_BYTES_MAX = 96;
/** The hash becomes part of an address, so its form is checked strictly. */
const HASH = /^[0-9a-f]{64}$/;
const MEDIA_TYPE = /^[a-z]+\/[a-z0-9.+-]{1,64}$/;

/** Returns the fault of an asset, or `undefined`. */
export function faultOfAsset({ name, hash, bytes, type }: Asset): string | undefined {
  if (name.length === 0 || name.length > NAME_BYTES_MAX)
    return `name should have 1 to ${NAME_BYTES_MAX} bytes`;
  if (!HASH.test(hash)) return "hash should be 64 hexadecimal digits in lower case";
  if (bytes > ASSET_BYTES_MAX) return `bytes should be at most ${ASSET_BYTES_MAX}`;
  if (!MEDIA_TYPE.test(type)) return "type should be a media type";
  return undefined;
}
