/**
 * The poses that clients of a real world display through jumps, rides and a sleep of their computer. `NOWCAST_PRINT=1`
 * prints them as lists of numbers, one for each client and entity: a coordinate or a distance in metres in each frame.
 */
import { spawn } from "node:child_process";
import { afterEach, expect, it, vi } from "vitest";
import { Impairment } from "../../src/impair/index.js";
import {
  type EntityId,
  type Input,
  type JoinOptions,
  joinWorld,
  type Pose,
  type World,
} from "../../src/world/index.js";
import { isLong } from "../long.js";
import { waitFor } from "../wait-for.js";
import { serveWorld } from "../world-folder.js";

const FRAME_MS = 1000 / 60;
/** Precision of a displayed pose, in metres. */
const NEAR_M = 0.02;
const APART_M_MAX = 0.05;
/** The tolerance for a passenger who slides on the boat, because it gains speed and inputs are late. */
const SLIDING_M_MAX = 0.25;
/** Number of frames that are checked after a jump. */
const AFTER_FRAMES = 15;
/** Number of steps for which the server reports a jump. */
const JUMP_STEPS = 60;
const STILL: Input = { forward: 0, right: 0, yaw: 0, run: false, jump: false };

const cleanups: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A client that displays a world 60 times a second. */
class Viewer {
  readonly world: World;
  /** Called after each frame. */
  readonly onFrames: (() => void)[] = [];

  readonly name: string | undefined;
  /** The most steps between two snapshots, since a test set 0. */
  gapSteps = 0;

  constructor(url: string, options: JoinOptions, loss = 0) {
    this.name = options.name;
    const link = { delayMs: 10, jitterMs: 5, loss, burst: 1, kilobitsPerSecond: Number.POSITIVE_INFINITY };
    const impair = new Impairment({ conditions: { up: link, down: link }, seed: 5 });
    this.world = joinWorld(url, { ...options, impair });
    let last = Number.POSITIVE_INFINITY;
    this.world.on("snapshot", ({ tick }) => {
      this.gapSteps = Math.max(this.gapSteps, tick - last);
      last = tick;
    });
    const timer = setInterval(() => {
      this.world.frame(performance.now());
      for (const onFrame of this.onFrames) onFrame();
    }, FRAME_MS);
    cleanups.push(() => {
      clearInterval(timer);
      this.world.close();
    });
  }

  place(id: EntityId): [number, number, number] | undefined {
    const pose: Pose = { position: { x: 0, y: 0, z: 0 }, quaternion: { x: 0, y: 0, z: 0, w: 1 } };
    if (!this.world.pose(id, pose)) return undefined;
    return [pose.position.x, pose.position.y, pose.position.z];
  }
}

async function serve(name: string, rules: string): Promise<string> {
  const folder = await serveWorld(name, `--!strict\nlocal world = require("@nowcast/world")\n${rules}`);
  cleanups.push(() => folder.stop());
  return `nowcast://127.0.0.1:${folder.server.port}/${name}`;
}

function idsOf(world: World, kind: string): EntityId[] {
  return [...world.entitiesOf(kind)].map(({ id }) => id);
}

function print(title: string, numbers: readonly number[]): void {
  if (process.env["NOWCAST_PRINT"] === undefined) return;
  console.log(`${title}: ${JSON.stringify(numbers.map((number) => Number(number.toFixed(3))))}`);
}

const JUMPS = `
local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(200, 1, 200) } })
local Person = world.kind("person", { walker = {} })
local Mark = world.kind("mark", { body = { motion = "kinematic", shape = "sphere", radius = 0.2 } })
local Ball = world.kind("ball", { body = { shape = "sphere", radius = 0.3, gravity_scale = 0 } })
world.settings { interest = "always" }
world.on("start", function()
	Floor:spawn { at = vector.create(0, -0.5, 0) }
	for i = 1, 2 do
		Mark:spawn { at = vector.create(0, 2, -10 * i) }
		Ball:spawn { at = vector.create(0, 4, -10 * i) }
	end
end)
world.on("join", function(player) player:spawn_avatar(Person, { at = vector.create(0, 1, 3 * player.id) }) end)
world.timer("again", function(data)
	local what = data.what
	what.position = what.position + vector.create(0, 0, 0.001)
	if data.left > 0 then world.after(1 / 60, "again", { what = what, left = data.left - 1 }) end
end)
world.action("jump", { what = "entity", d = { "f32", min = -100, max = 100 }, again = "bool" }, function(player, given)
	local what = given.what
	what.position = what.position + vector.create(given.d, 0, 0)
	if given.again then world.after(1 / 60, "again", { what = what, left = 10 }) end
end)
`;

it("a second client displays no place between those of a jump", async () => {
  const url = await serve("jumps", JUMPS);
  const [first, second] = [new Viewer(url, { name: "Ada" }).world, new Viewer(url, { name: "Ben" }).world];
  await Promise.all([first.joined, second.joined]);
  // Half of the entities are set again in each of the steps after a jump.
  const watched = ["mark", "ball"].flatMap((kind) => {
    const [once, again] = idsOf(first, kind);
    return [
      { name: kind, id: once!, again: false },
      { name: `${kind}, set again`, id: again!, again: true },
    ];
  });
  watched.push({ name: "avatar", id: first.avatarId!, again: false });
  watched.push({ name: "avatar, set again", id: second.avatarId!, again: true });
  const viewers = [4, 10, 20].flatMap((networkHz) =>
    [0, 0.05].map((loss) => {
      const viewer = new Viewer(url, { name: "Eve", networkHz }, loss);
      const displayed = new Map<EntityId, number[]>();
      viewer.onFrames.push(() => {
        for (const { id } of watched) displayed.get(id)?.push(viewer.place(id)?.[0] ?? Number.NaN);
      });
      return { viewer, displayed, title: `${networkHz} Hz, ${loss * 100} % loss` };
    }),
  );
  await Promise.all(viewers.map(({ viewer }) => viewer.world.joined));
  const isAt = (x: number, place: number): boolean => Math.abs(x - place) < NEAR_M;
  let checked = 0;
  for (const d of [0.5, -0.5, 1, -1, 3, -3, 3.9, -3.9, 8, -8, 15, -15]) {
    const from = new Map(watched.map(({ id }) => [id, first.entities.get(id)!.position[0]]));
    await waitFor("all entities", () =>
      viewers.every(({ viewer }) =>
        watched.every(({ id }) => isAt(viewer.place(id)?.[0] ?? Number.NaN, from.get(id)!)),
      ),
    );
    for (const { viewer, displayed } of viewers) {
      viewer.gapSteps = 0;
      for (const { id } of watched) displayed.set(id, []);
    }
    for (const { id: what, again } of watched) void first.act("jump", { what, d, again });
    await waitFor(`jumps of ${d} m`, () =>
      viewers.every(({ displayed }) =>
        watched.every(({ id }) =>
          isAt(displayed.get(id)!.at(-AFTER_FRAMES) ?? Number.NaN, from.get(id)! + d),
        ),
      ),
    );
    for (const { viewer, displayed, title } of viewers) {
      // A client to which this machine gave no time cannot know of a jump (`spec/WORLD.md`, section 4).
      if (viewer.gapSteps >= JUMP_STEPS) continue;
      for (const { id, name } of watched) {
        checked++;
        const [xs, start] = [displayed.get(id)!, from.get(id)!];
        print(`x, jump of ${d} m, ${title}, ${name}`, xs);
        const between = xs.filter((x) => !isAt(x, start) && !isAt(x, start + d));
        expect(between, `${name}, ${d} m, ${title}`).toEqual([]);
      }
    }
  }
  expect(checked).toBeGreaterThan(0);
});

const RIDES = `
local Person = world.kind("person", { walker = {} })
local Boat = world.kind("boat", {
	body = { motion = "kinematic", shape = "box", size = vector.create(8, 0.5, 3) },
	attributes = { speed = "f32" },
})
local Mast = world.kind("mast", { look = { shape = "box", size = vector.create(0.2, 3, 0.2) } })
world.settings { interest = "always" }
world.on("start", function()
	for i, speed in { 5, 21, 70 } do
		local boat = Boat:spawn { at = vector.create(-300, 1, 20 * i), speed = speed }
		local mast = Mast:spawn { at = boat.position + vector.create(3, 1.75, 0) }
		mast.parent = boat
	end
end)
world.on("join", function(player)
	local job, speed = string.match(player.name, "^(%a+)(%d+)$")
	local x = if job == "captain" then 2 elseif job == "rider" then 0 else -2
	for _, boat in Boat:all() do
		if tostring(boat.speed) ~= speed then continue end
		local body = player:spawn_avatar(Person, { at = boat.position + vector.create(x, 1.15, 0) })
		if job == "captain" then player:control(boat, { seat = vector.create(2, 1.1, 0) }) end
		if job == "rider" then body.parent = boat end
	end
end)
Boat:on("step", function(boat)
	local speed = boat.velocity.x
	if boat.player and boat.player.input.forward > 0 then speed = math.min(boat.speed, speed + 0.5) end
	boat.velocity = vector.create(speed, 0, 0)
end)
`;

it.each([0, 0.05])("riders are displayed where their boat is displayed, with a loss of %d", async (loss) => {
  const url = await serve("boats", RIDES);
  const bystander = new Viewer(url, { name: "Eve" }, loss);
  const boats = [5, 21, 70].map((speed) => {
    const [captain, rider, passenger] = ["captain", "rider", "passenger"].map(
      (job) => new Viewer(url, { name: `${job}${speed}` }, loss),
    ) as [Viewer, Viewer, Viewer];
    return { speed, captain, rider, passenger, viewers: [bystander, captain, rider, passenger] };
  });
  await Promise.all(boats.flatMap(({ viewers }) => viewers.slice(1).map(({ world }) => world.joined)));
  const rides: Ride[] = [];
  for (const { speed, captain, rider, passenger, viewers } of boats) {
    const { world } = captain;
    const boat = await waitFor("the boat", () => world.avatar?.kind.name === "boat" && world.avatarId);
    const aboard = (kind: string): EntityId[] =>
      idsOf(world, kind).filter((id) => world.entities.get(id)!.parent === boat);
    const [mast, seated] = await waitFor("those aboard", () => {
      const person = aboard("person").find((id) => id !== rider.world.avatarId);
      return aboard("person").length === 2 && aboard("mast").length === 1 && [aboard("mast")[0]!, person!];
    });
    for (const viewer of viewers) {
      const title = `boat at ${speed} m/s, seen by ${viewer.name}, ${loss * 100} % loss`;
      rides.push(new Ride(viewer, boat, mast!, `mast, ${title}`, 3));
      rides.push(new Ride(viewer, boat, seated!, `captain, ${title}`, 2));
      rides.push(new Ride(viewer, boat, rider.world.avatarId!, `rider, ${title}`, 0));
      // The passenger's own page predicts the ride: see prediction.test.ts. On a faster boat, each late input moves the passenger
      // over the deck.
      if (viewer !== passenger && speed === 5)
        rides.push(new Ride(viewer, boat, passenger.world.avatarId!, `passenger, ${title}`, -2, true));
    }
  }
  for (const { captain } of boats) captain.world.input({ ...STILL, forward: 1 });
  const isUnderway = (): boolean =>
    boats.every(({ captain, speed }) => captain.world.avatar!.position[0] > -300 + speed * 2);
  await waitFor("the ride", () => isUnderway() && rides.every(({ displayed }) => displayed.length > 60));
  for (const { title, displayed, least, most, apartM } of rides) {
    print(`x minus the boat's x, ${title}`, displayed);
    expect(Math.min(...displayed), title).toBeGreaterThan(least - apartM);
    expect(Math.max(...displayed), title).toBeLessThan(most + apartM);
  }
});

/** The places of an entity on its boat, along x: as displayed in each frame, and the range that the server sent. */
class Ride {
  readonly displayed: number[] = [];
  readonly apartM: number;
  least: number;
  most: number;

  /** The entity begins at `seat`. If it stands on the boat, it slides while the boat gains speed. */
  constructor(
    viewer: Viewer,
    boat: EntityId,
    id: EntityId,
    readonly title: string,
    seat: number,
    stands = false,
  ) {
    const { entities } = viewer.world;
    this.least = this.most = seat;
    this.apartM = stands ? SLIDING_M_MAX : APART_M_MAX;
    viewer.onFrames.push(() => {
      const [place, base] = [viewer.place(id), viewer.place(boat)];
      if (place && base) this.displayed.push(place[0] - base[0]);
      const [own, ground] = [entities.get(id), entities.get(boat)];
      if (!stands || own === undefined || own.tick !== ground?.tick) return;
      const x = own.position[0] - ground.position[0];
      [this.least, this.most] = [Math.min(this.least, x), Math.max(this.most, x)];
    });
  }
}

const MARKERS = `
local owner = { by = "player", speed = 500, reach = 200, spawns = 2, leave = "despawn" }
local look = { shape = "sphere", radius = 0.6 }
local body = { motion = "kinematic", shape = "sphere", radius = 0.6 }
world.settings { interest = "always" }
world.kind("cursor", { look = look, owner = owner })
world.kind("solid", { body = body, owner = owner })
local Marker = world.kind("marker", { look = look })
local Block = world.kind("block", { body = body })
world.on("start", function()
	Marker:spawn { at = vector.create(0, 3, 0) }
	Block:spawn { at = vector.create(0, 3, 0) }
end)
for _, kind in { Marker, Block } do
	kind:on("step", function(entity) entity.position = vector.create(5 * math.sin(world.time()), 3, 0) end)
end
`;

it("an entity without a body is displayed where rules and owners put it", async () => {
  const url = await serve("markers", MARKERS);
  const owner = new Viewer(url, { name: "Ada", networkHz: 20 });
  const viewer = new Viewer(url, { name: "Eve", networkHz: 20 }, 0.05);
  await Promise.all([owner.world.ready, viewer.world.ready]);
  const [cursor, solid] = await Promise.all(
    ["cursor", "solid"].map((kind) => owner.world.spawn(kind, { position: [0, 1, 0] })),
  );
  const [marker, block] = await Promise.all(
    ["marker", "block"].map((kind) => waitFor(kind, () => idsOf(owner.world, kind)[0])),
  );
  const pairs = [
    { name: "marker of an owner", ids: [cursor!, solid!] as const },
    { name: "marker of the rules", ids: [marker!, block!] as const },
  ].map((pair) => ({ ...pair, xs: [] as number[], besideXs: [] as number[] }));
  await waitFor("all entities", () => pairs.every(({ ids }) => ids.every((id) => viewer.place(id))));
  let frames = 0;
  owner.onFrames.push(() => {
    // The server may take the two poses in different steps.
    const x = 2 * Math.sin(frames++ / 120);
    for (const id of [cursor!, solid!]) owner.world.move(id, { position: [x, 1, 0] });
  });
  viewer.onFrames.push(() => {
    for (const { ids, xs, besideXs } of pairs) {
      xs.push(viewer.place(ids[0])?.[0] ?? Number.NaN);
      besideXs.push(viewer.place(ids[1])?.[0] ?? Number.NaN);
    }
  });
  await waitFor("the way", () => frames > 120);
  for (const { name, xs, besideXs } of pairs) {
    print(`x, ${name}`, xs);
    print(`x, body at the place of the ${name}`, besideXs);
    expect(Math.max(...xs) - Math.min(...xs), name).toBeGreaterThan(1);
    expect(Math.max(...xs.map((x, at) => Math.abs(x - besideXs[at]!))), name).toBeLessThan(APART_M_MAX);
  }
});

const SLEEP = `
local Cart = world.kind("cart", { body = { motion = "kinematic", shape = "box", size = vector.one } })
world.settings { interest = "always" }
world.on("start", function() Cart:spawn { at = vector.create(0, 1, 0), velocity = vector.create(2, 0, 0) } end)
`;

it.each(
  isLong ? [2, 20, 45] : [2],
)("a computer that slept for %i s displays the present again within a second", async (sleptS) => {
  const url = await serve("sleep", SLEEP);
  const viewer = new Viewer(url, { name: "Ada" });
  const { world } = viewer;
  await world.ready;
  // An empty room would stop. This client's process does not sleep.
  const socket = `new (require("ws"))("${url.replace(/^nowcast(.*)sleep/, "ws$1ws/sleep")}?name=Ben")`;
  const other = spawn(process.execPath, ["-e", socket], { cwd: import.meta.dirname });
  cleanups.push(() => void other.kill());
  await waitFor("the other player", () => world.players.size === 2);
  const cart = await waitFor("the cart", () => idsOf(world, "cart")[0]);
  const now = performance.now.bind(performance);
  let sleptMs = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now() - sleptMs);
  cleanups.push(() => void vi.restoreAllMocks());
  // Each place minus the way since the start is the same for a client that does not sleep.
  const lags: { atMs: number; x: number; lag: number }[] = [];
  viewer.onFrames.push(() => {
    const x = viewer.place(cart)?.[0] ?? Number.NaN;
    lags.push({ atMs: now(), x, lag: x - (now() / 1000) * 2 });
  });
  await waitFor("a steady delay", () => lags.length > 120);
  const before = lags.at(-1)!.lag;
  lags.splice(0);
  const [asleepMs, wokenMs] = [now(), now() + sleptS * 1000];
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, sleptS * 1000);
  sleptMs = now() - asleepMs;
  await waitFor("the time after the sleep", () => lags.length > 0 && lags.at(-1)!.atMs > wokenMs + 1500);
  const later = lags.filter(({ atMs }) => atMs > wokenMs + 1000).map(({ lag }) => lag - before);
  print(
    `x after a sleep of ${sleptS} s`,
    lags.map(({ x }) => x),
  );
  print(
    `x minus that of a client that did not sleep, after a sleep of ${sleptS} s`,
    lags.map(({ lag }) => lag - before),
  );
  expect(later.length).toBeGreaterThan(10);
  expect(Math.max(...later.map(Math.abs))).toBeLessThan(0.1);
});
