/**
 * Returns the element with this id. Page and program belong together, so a missing element is a programming
 * error.
 */
export function element<T extends HTMLElement>(id: string, type: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`index.html has no ${type.name} with the id "${id}"`);
  return found;
}
