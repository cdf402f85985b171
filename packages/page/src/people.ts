/** The SDK's description of a player. */
export interface PlayerFacts {
  readonly id: number;
  readonly name: string;
  readonly avatarId: number | undefined;
}

export type Happening =
  | { readonly what: "came"; readonly name: string }
  | { readonly what: "renamed"; readonly before: string; readonly name: string };

interface Person {
  name: string;
  avatarId: number | undefined;
}

/** The players in the room, and their avatars. */
export class People {
  readonly #byId = new Map<number, Person>();

  /** The players by their numbers. */
  get all(): ReadonlyMap<number, Readonly<Person>> {
    return this.#byId;
  }

  get count(): number {
    return this.#byId.size;
  }

  avatarOf(playerId: number): number | undefined {
    return this.#byId.get(playerId)?.avatarId;
  }

  /** Records a player. Returns the change to report; `undefined` if there is none. */
  update({ id, name, avatarId }: PlayerFacts): Happening | undefined {
    const known = this.#byId.get(id);
    this.#byId.set(id, { name, avatarId });
    if (!known) return { what: "came", name };
    return known.name === name ? undefined : { what: "renamed", before: known.name, name };
  }

  remove(id: number): void {
    this.#byId.delete(id);
  }

  clear(): void {
    this.#byId.clear();
  }
}
