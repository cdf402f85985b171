/**
 * The hooks with React itself, in StrictMode, on a document of jsdom.
 *
 * @vitest-environment jsdom
 */
import { type Entity, type EntityId, joinWorld, type Player, type PlayerId, type World } from "nowcast/world";
import { act, type ReactNode, StrictMode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Emitter } from "../../nowcast/src/events/emitter.js";
import type { WorldEvents } from "../../nowcast/src/world/world.js";
import {
  useAttribute,
  useAvatar,
  useEntities,
  useEntity,
  usePlayers,
  useScreen,
  useStatus,
  useWorld,
  useWorldEvent,
  WorldProvider,
} from "../src/index.js";

vi.mock(import("nowcast/world"), async (original) => ({ ...(await original()), joinWorld: vi.fn() }));

/** A world that the test changes. */
class FakeWorld {
  readonly emitter = new Emitter<WorldEvents>();
  readonly players = new Map<PlayerId, Player>();
  readonly entities = new Map<EntityId, Entity>();
  readonly screen = new Map<string, unknown>();
  readonly ready = Promise.resolve();
  status = "open";
  connection = "steady";
  name: string | undefined;
  isClosed = false;
  listeners = 0;

  get avatar(): Entity | undefined {
    return this.entities.get(1 as EntityId);
  }

  readonly on = <K extends keyof WorldEvents>(type: K, listener: (event: WorldEvents[K]) => void) => {
    const release = this.emitter.on(type, listener);
    this.listeners++;
    return () => {
      this.listeners--;
      release();
    };
  };

  *entitiesOf(kind: string): Iterable<Entity> {
    for (const entity of this.entities.values()) if (entity.kind.name === kind) yield entity;
  }

  rename(name: string): void {
    this.name = name;
  }

  close(): void {
    this.isClosed = true;
  }

  addPlayer(id: number, name: string): void {
    const player = { id: id as PlayerId, name, avatarId: undefined, isProgram: false };
    const before = this.players.get(player.id)?.name;
    this.players.set(player.id, player);
    if (before === undefined) this.emitter.emit("joined", { player });
    else this.emitter.emit("renamed", { player, before });
  }

  show(place: string, value: unknown): void {
    this.screen.set(place, value);
    this.emitter.emit("screen", { place, value });
  }

  add(id: number, kind: string, attributes: Record<string, unknown>): void {
    const entity = { id, kind: { name: kind }, attributes } as unknown as Entity;
    this.entities.set(id as EntityId, entity);
    this.emitter.emit("spawn", { entity });
  }

  set(id: number, attributes: Record<string, unknown>): void {
    const entity = this.entities.get(id as EntityId)!;
    Object.assign(entity, { attributes: { ...entity.attributes, ...attributes } });
    this.emitter.emit("change", { entity, names: Object.keys(attributes), parts: [] });
  }
}

let root: Root;
let world: FakeWorld;
beforeEach(() => {
  document.body.innerHTML = "<main></main>";
  vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
  world = new FakeWorld();
  vi.mocked(joinWorld as () => unknown).mockReset();
  root = createRoot(document.querySelector("main")!);
});
afterEach(async () => {
  await act(async () => root.unmount());
  expect(world.listeners).toBe(0);
  vi.unstubAllGlobals();
});

async function render(children: ReactNode): Promise<void> {
  await act(async () =>
    root.render(
      <StrictMode>
        <WorldProvider world={world as unknown as World}>{children}</WorldProvider>
      </StrictMode>,
    ),
  );
}

function text(): string {
  return document.querySelector("main")!.textContent ?? "";
}

it("a score and a list of players follow the world in StrictMode", async () => {
  function Board(): ReactNode {
    const score = useScreen<{ red: number; blue: number }>("score");
    const names = usePlayers().map(({ name }) => name);
    return `${score?.red ?? 0}:${score?.blue ?? 0} ${names.join(", ")}`;
  }
  world.addPlayer(1, "Ada");
  await render(<Board />);
  expect(text()).toBe("0:0 Ada");
  await act(async () => {
    world.show("score", { red: 2, blue: 1 });
    world.addPlayer(2, "Ben");
  });
  expect(text()).toBe("2:1 Ada, Ben");
  await act(async () => world.addPlayer(2, "Bob"));
  expect(text()).toBe("2:1 Ada, Bob");
});

it("entities and attributes follow the world, and a movement renders nothing again", async () => {
  let renders = 0;
  function Sheep(): ReactNode {
    renders++;
    const wool = useAttribute<number>(7 as EntityId, "wool");
    const flock = useEntities("sheep").map(({ id }) => id);
    const first = useAttribute(useEntity(7 as EntityId), "wool");
    return `${useAvatar()?.kind.name ?? "nobody"} ${wool ?? "-"} ${first ?? "-"} [${flock}] ${useStatus()}`;
  }
  await render(<Sheep />);
  expect(text()).toBe("nobody - - [] open");
  await act(async () => {
    world.add(1, "person", {});
    world.add(7, "sheep", { wool: 1 });
  });
  expect(text()).toBe("person 1 1 [7] open");
  await act(async () => world.set(7, { wool: 0.5 }));
  expect(text()).toBe("person 0.5 0.5 [7] open");
  const before = renders;
  await act(async () =>
    world.emitter.emit("snapshot", { tick: 1, receivedAtMs: 0, moved: [], ackedInputSequence: 0 }),
  );
  expect(renders).toBe(before);
});

it("an event reaches the newest listener once, and is the newest value", async () => {
  const heard: string[] = [];
  function Goal({ of }: { of: string }): ReactNode {
    const goal = useWorldEvent("event:goal", ({ payload }) => heard.push(`${of} ${String(payload)}`));
    return String(goal?.payload ?? "none");
  }
  await render(<Goal of="first" />);
  await render(<Goal of="second" />);
  expect(text()).toBe("none");
  await act(async () => world.emitter.emit("event:goal", { payload: "red" }));
  expect(heard).toEqual(["second red"]);
  expect(text()).toBe("red");
});

it("the provider joins once in StrictMode, renames, and leaves with its component", async () => {
  vi.mocked(joinWorld as () => unknown).mockReturnValue(world);
  const Shown = (): ReactNode => useWorld().status;
  const page = (name: string): ReactNode => (
    <StrictMode>
      <WorldProvider url="/r/plaza" options={{ name }} fallback="joining">
        <Shown />
      </WorldProvider>
    </StrictMode>
  );
  await act(async () => root.render(page("Ada")));
  await act(async () => {
    await vi.waitFor(() => expect(joinWorld).toHaveBeenCalled());
  });
  expect(text()).toBe("open");
  expect(joinWorld).toHaveBeenCalledTimes(1);
  expect(joinWorld).toHaveBeenCalledWith("/r/plaza", { retry: true, name: "Ada" });
  await act(async () => root.render(page("Eve")));
  expect(joinWorld).toHaveBeenCalledTimes(1);
  expect(world.name).toBe("Eve");
  await act(async () => root.render(null));
  expect(world.isClosed).toBe(true);
});

it("a hook outside of a provider names the cure", () => {
  const Lost = (): ReactNode => useWorld().status;
  const lost = createRoot(document.createElement("div"));
  expect(() => act(() => lost.render(<Lost />))).toThrow("<WorldProvider>");
});

it("a list of a kind is rendered only when one of its entities comes or goes", async () => {
  let renders = 0;
  function Flock(): ReactNode {
    renders++;
    return useEntities("sheep").length;
  }
  world.add(1, "sheep", { wool: 1 });
  world.add(2, "ball", { hits: 0 });
  await render(<Flock />);
  const rendered = async (change: () => void): Promise<number> => {
    const before = renders;
    await act(async () => change());
    return renders - before;
  };
  expect(await rendered(() => world.set(2, { hits: 1 }))).toBe(0);
  expect(await rendered(() => world.add(3, "ball", {}))).toBe(0);
  expect(await rendered(() => world.set(1, { wool: 2 }))).toBe(0);
  expect(await rendered(() => world.add(4, "sheep", {}))).toBeGreaterThan(0);
  expect(text()).toBe("2");
  const became = world.entities.get(4 as EntityId)!;
  Object.assign(became, { kind: { name: "ball" } });
  await act(async () => world.emitter.emit("change", { entity: became, names: [], parts: ["kind"] }));
  expect(text()).toBe("1");
});
