import type { Query } from "../api/studio-api.js";

/**
 * Reads a search: words, `kind:NAME`, `tag:NAME`, `attribute:NAME=VALUE`, `near:x,y,z,radius` and `#ID`. The names may be
 * shortened to their first letter. Returns `undefined` for an empty search.
 */
export function readSearch(text: string): Query | undefined {
  const words: string[] = [];
  const found: { -readonly [Name in keyof Query]: Query[Name] } = {};
  for (const part of text.trim().split(/\s+/)) {
    const match = /^(kind|k|tag|t|attribute|a|near|n):(.+)$/.exec(part);
    if (!match) {
      if (part !== "") words.push(part);
      continue;
    }
    const [, name, value] = match;
    if (name!.startsWith("k")) found.kind = value;
    else if (name!.startsWith("t")) found.tag = value;
    else if (name!.startsWith("a")) found.attribute = value;
    else found.near = value;
  }
  if (words.length > 0) found.search = words.join(" ");
  return Object.keys(found).length === 0 ? undefined : found;
}
