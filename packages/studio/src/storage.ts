/** Texts that this browser keeps. If it keeps none for this site, they last until the page closes. */
export type KeptTexts = Pick<Storage, "getItem" | "setItem">;

/** Reads the storage only on use, because browsers that block site data refuse even to name it. */
function keep(storage: () => Storage): KeptTexts {
  const texts = new Map<string, string>();
  return {
    getItem(key) {
      try {
        return storage().getItem(key);
      } catch {
        return texts.get(key) ?? null;
      }
    },
    setItem(key, text) {
      try {
        storage().setItem(key, text);
      } catch {
        texts.set(key, text);
      }
    },
  };
}

/** Texts for all visits. */
export const browserTexts = keep(() => window.localStorage);
/** Texts for this tab. */
export const tabTexts = keep(() => window.sessionStorage);
