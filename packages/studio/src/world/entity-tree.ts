import type { Place, Query, StudioApi } from "../api/studio-api.js";
import type { Kind, Row } from "../api/types.js";
import { make } from "../dom.js";
import { vectorText } from "../value.js";
import { type ListRow, type ListSource, VirtualList } from "../virtual-list.js";
import { EntityPages } from "./entity-pages.js";

/** Height of a row. The style sheet has the same value. */
const ROW_PX = 26;

interface Group {
  readonly kind: Kind | undefined;
  pages: EntityPages | undefined;
}

/** The place that a list index names: a group's head (`row` is -1), or one of its rows. */
interface Spot {
  readonly group: Group;
  readonly row: number;
}

/** A tree of a room's entities: kinds, and below them their entities. A search shows its rows alone. */
export class EntityTree implements ListSource {
  readonly list: VirtualList;
  readonly #api: StudioApi;
  readonly #select: (row: Row) => void;
  readonly #failed: (error: unknown) => void;
  #place: Place | undefined;
  #query: Query | undefined;
  #groups: Group[] = [];
  #selected: number | undefined;
  #range: readonly [number, number] = [0, 0];

  /** The names of players, as far as they are known. */
  names: (player: number) => string | undefined = () => undefined;

  constructor(api: StudioApi, select: (row: Row) => void, failed: (error: unknown) => void) {
    this.#api = api;
    this.#select = select;
    this.#failed = failed;
    this.list = new VirtualList("Entities", ROW_PX, this);
  }

  /** Shows another place. Closed groups are all there is until `setKinds`. */
  setPlace(place: Place | undefined): void {
    this.#place = place;
    this.#clear();
    if (this.#query) this.search(this.#query);
  }

  /** The kinds of the place. Open groups stay open. */
  setKinds(kinds: readonly Kind[]): void {
    if (this.#query) return;
    const earlier = new Map(this.#groups.map((group) => [group.kind?.name, group]));
    const shown = kinds.filter(({ count }) => count > 0);
    this.#groups = shown.map((kind) => ({ kind, pages: earlier.get(kind.name)?.pages }));
    this.list.refresh();
  }

  /** Shows only the rows of a search; `undefined` shows the kinds, after the next `setKinds`. */
  search(query: Query | undefined): void {
    this.#query = query;
    this.#clear();
    if (!query) return;
    const group: Group = { kind: undefined, pages: undefined };
    group.pages = this.#open(query, 0);
    this.#groups = [group];
    this.#want(group.pages, 1);
  }

  /** The number of rows that the search found; `undefined` without a search. */
  get found(): number | undefined {
    return this.#query ? this.#groups[0]?.pages?.total : undefined;
  }

  select(id: number | undefined): void {
    this.#selected = id;
    this.list.refresh();
  }

  /** Reads the visible rows again, because entities move. */
  async update(): Promise<void> {
    const [first, end] = this.#range;
    let start = 0;
    for (const group of this.#groups) {
      const head = group.kind ? 1 : 0;
      const from = start + head;
      const { pages } = group;
      start = from + (pages?.total ?? 0);
      if (!pages || start <= first || from >= end) continue;
      const isSame = await pages.refresh(Math.max(0, first - from), Math.min(pages.total, end - from));
      if (isSame || group.pages !== pages) continue;
      // The old rows stay until the new ones are here, so that a click meets the row that the user sees.
      const renewed = this.#open(group.kind ? { kind: group.kind.name } : this.#query!, pages.total);
      await renewed.want(end - from);
      const isShown = group.pages === pages;
      if (isShown) group.pages = renewed;
      (isShown ? pages : renewed).close();
    }
    this.list.refresh();
  }

  get count(): number {
    let count = 0;
    for (const { kind, pages } of this.#groups) count += (kind ? 1 : 0) + (pages?.total ?? 0);
    return count;
  }

  row(index: number): ListRow {
    const { group, row } = this.#spot(index)!;
    if (row < 0) {
      const { name, count, body } = group.kind!;
      return {
        id: `kind-${group.kind!.id}`,
        className: "kind",
        level: 1,
        expanded: group.pages !== undefined,
        children: [
          make("span", { class: "twist", "aria-hidden": "true" }, group.pages ? "▾" : "▸"),
          make("b", {}, name),
          make("small", {}, body ?? ""),
          make("span", { class: "count" }, count.toLocaleString("en")),
        ],
      };
    }
    const entity = group.pages!.at(row);
    const level = group.kind ? 2 : 1;
    if (!entity) return { id: `row-${index}`, className: "loading", level, children: ["…"] };
    return {
      id: `entity-${entity.id}`,
      className: group.kind ? "entity nested" : "entity",
      level,
      selected: entity.id === this.#selected,
      children: [
        make("span", { class: "id" }, `#${entity.id}`),
        make("span", { class: "name" }, this.#nameOf(entity, group.kind !== undefined)),
        ...entity.tags.map((tag) => make("span", { class: "tag" }, tag)),
        make("span", { class: "place" }, vectorText(entity.position, 1)),
      ],
    };
  }

  /** The label; for an entity without one, its player, or its kind if that is not the group. */
  #nameOf({ label, owner, kind }: Row, isGrouped: boolean): string {
    if (label !== null) return label;
    if (owner !== null) return this.names(owner) ?? `player ${owner}`;
    return isGrouped ? "" : kind;
  }

  visible(first: number, end: number): void {
    this.#range = [first, end];
    let start = 0;
    for (const { kind, pages } of this.#groups) {
      const from = start + (kind ? 1 : 0);
      start = from + (pages?.total ?? 0);
      if (pages && start > first && from < end) this.#want(pages, end - from);
    }
  }

  activate(index: number): void {
    const spot = this.#spot(index);
    if (!spot) return;
    if (spot.row < 0) this.#toggle(spot.group, spot.group.pages === undefined);
    const entity = spot.group.pages?.at(spot.row);
    if (!entity) return;
    this.select(entity.id);
    this.#select(entity);
  }

  expand(index: number, open: boolean): number {
    const spot = this.#spot(index);
    if (!spot?.group.kind) return index;
    if (open && spot.row < 0 && spot.group.pages) return index + 1;
    if (!open && spot.row >= 0) return index - spot.row - 1;
    if (spot.row < 0) this.#toggle(spot.group, open);
    return index;
  }

  #toggle(group: Group, open: boolean): void {
    group.pages?.close();
    group.pages = open ? this.#open({ kind: group.kind!.name }, group.kind!.count) : undefined;
    if (group.pages) this.#want(group.pages, 1);
    this.list.refresh();
  }

  #open(query: Query, total: number): EntityPages {
    const place = this.#place!;
    return new EntityPages(
      (after, limit) => this.#api.entities(place, query, { after, limit }),
      total,
      () => this.list.refresh(),
    );
  }

  #want(pages: EntityPages, end: number): void {
    pages.want(end).catch(this.#failed);
  }

  #spot(index: number): Spot | undefined {
    let start = 0;
    for (const group of this.#groups) {
      if (group.kind) {
        if (index === start) return { group, row: -1 };
        start += 1;
      }
      const rows = group.pages?.total ?? 0;
      if (index < start + rows) return { group, row: index - start };
      start += rows;
    }
    return undefined;
  }

  #clear(): void {
    for (const { pages } of this.#groups) pages?.close();
    this.#groups = [];
    this.list.refresh();
  }
}
