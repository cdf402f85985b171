// A bot that walks around in the playground and stacks blocks: `npm run bot -- nowcast://localhost:7777/playground`.
//
// The bot knows three names of that world in advance: the kind `block`, the attribute `holding` of a person, and the
// actions `grab` and `put_down`. `world.definition` has all others.
//
// The world arrives as snapshots. The bot does the same as a person: it reads the newest snapshot, decides on its
// controls, and reads the next. All its knowledge is in `world.entities`.
import { joinWorld } from "nowcast/world";

const REST = { forward: 0, right: 0, yaw: 0, run: false, jump: false };
const HEADWAY_TIMEOUT_MS = 1500;
/** A carried block hangs a metre above the ground: the bot cannot build on anything higher than its lower side. */
const CARRY_HEIGHT = 0.98;

const url = process.argv[2] ?? "nowcast://localhost:7777/playground";
const name = process.argv[3] ?? "Mason";
/** For tests: number of blocks after which the bot leaves. */
const blocksWanted = Number(process.argv[4] ?? Number.POSITIVE_INFINITY);

const world = joinWorld(url, { name, networkHz: 20 });
world.on("status", ({ status }) => console.log(`${status}: ${url}`));
world.on("error", ({ error }) => console.log(`lost the world: ${error.message}`));
world.on("refused", ({ action, reason }) => console.log(`${action} was not taken: ${reason}`));
world.on("notice", ({ text }) => console.log(`the server says: ${text}`));
world.on("chat", ({ from, name, text }) => {
  if (from === world.playerId) return;
  console.log(`${name}: ${text}`);
  if (/\bhello\b/i.test(text)) world.chat(`Hello, ${name}! I am stacking blocks.`);
});

let newestTick = 0;
world.on("snapshot", ({ tick }) => {
  newestTick = tick;
});

await stackBlocks();

async function stackBlocks() {
  await world.ready;
  // A full world arrives in several snapshots, and the local avatar may not be in the first one.
  await until(() => true, Number.POSITIVE_INFINITY);
  let stack = chooseSite();
  for (let placed = 0; placed < blocksWanted; ) {
    const block = chooseBlock(stack);
    if (block === undefined) {
      stack = chooseSite();
      await walkAbout();
    } else if ((await fetchBlock(block)) && (await placeBlock(block, stack))) {
      placed++;
      stack.top = block.position[1] + height(block) / 2;
      console.log(`block ${block.id} is on the stack, which is ${stack.top.toFixed(2)} m high now`);
    } else {
      await walkAbout();
    }
  }
  world.chat(`I have stacked ${blocksWanted} blocks.`);
  await event("chat");
  world.close();
}

/** Chooses open ground, with nothing within two metres. */
function chooseSite() {
  const [x, , z] = me().position;
  for (let attempt = 0; ; attempt++) {
    const angle = Math.random() * 2 * Math.PI;
    const away = 2.5 + attempt * 0.1;
    const site = { x: x + Math.cos(angle) * away, z: z + Math.sin(angle) * away, top: 0 };
    const clear = others().every((entity) => distance(entity, site) > 2 + footprint(entity) / 2);
    if (clear && Math.hypot(site.x, site.z) < 24) return site;
  }
}

/** The nearest block that lies free and still fits onto the stack; if none does, the stack is finished. */
function chooseBlock(stack) {
  const resting = others().filter((entity) => entity.kind.name === "block" && entity.tick < newestTick - 30);
  const free = resting.filter(
    (block) =>
      distance(block, stack) > 1.5 &&
      block.position[1] < 1.7 &&
      Math.max(...block.scale) < 0.95 &&
      stack.top < CARRY_HEIGHT - height(block) / 2 &&
      block.attributes.holder === null &&
      !others().some((other) => isOn(other, block)),
  );
  return free.sort((a, b) => distance(a, me()) - distance(b, me()))[0];
}

async function fetchBlock(block) {
  if (!(await walkTo(block, 1.2 + footprint(block) / 2))) return false;
  world.act("grab", { block: block.id });
  return until(() => held() === block.id, 2000);
}

/** Creeps forward until the block hangs over the stack, stops, and lets it down. */
async function placeBlock(block, stack) {
  await walkTo(stack, 2);
  const over = await until(() => {
    const left = distance(block, stack);
    steer(stack, { forward: Math.min(0.5, left * 0.6) });
    return left < 0.06;
  }, 8000);
  stop(stack);
  await seconds(0.5);
  world.act("put_down");
  await seconds(1);
  const lies = over && distance(block, stack) < 0.3 && block.position[1] > stack.top;
  // A step back avoids a collision with the new stack.
  await until(() => {
    steer(stack, { forward: -0.6 });
    return distance(me(), stack) > 1.8;
  }, 2000);
  stop(stack);
  return lies;
}

/** Walks a few steps in some direction: an obstacle may have moved by then. */
async function walkAbout() {
  if (held() !== null) world.act("put_down");
  const [x, , z] = me().position;
  const angle = Math.random() * 2 * Math.PI;
  await walkTo({ x: clamp(x + 4 * Math.cos(angle)), z: clamp(z + 4 * Math.sin(angle)) }, 0.5);
}

/** Walks straight toward a place; jumps and sidesteps when something is in the way. False when it never gets there. */
async function walkTo(place, near) {
  let best = Number.POSITIVE_INFINITY;
  let headwayMs = performance.now();
  let stuck = 0;
  const arrived = await until(() => {
    const left = distance(me(), place);
    const nowMs = performance.now();
    if (left < best - 0.1) {
      best = left;
      headwayMs = nowMs;
    } else if (nowMs - headwayMs > HEADWAY_TIMEOUT_MS) {
      stuck++;
      headwayMs = nowMs;
      best = left + 1;
    }
    const sidestep = stuck > 0 && nowMs - headwayMs < 600;
    steer(place, { forward: sidestep ? 0.3 : 1, right: sidestep ? (stuck % 2) * 2 - 1 : 0, jump: sidestep });
    return left < near || stuck > 5;
  }, 30_000);
  stop(place);
  return arrived && distance(me(), place) < near + 0.5;
}

/** Faces a place and sets the controls. */
function steer(place, controls) {
  const [x, , z] = me().position;
  const to = spot(place);
  // Yaw 0 faces −Z. Seen from above, yaw increases counter-clockwise.
  const yaw = Math.atan2(x - to.x, z - to.z);
  world.input({ ...REST, ...controls, yaw });
}

function stop(place) {
  steer(place, { forward: 0 });
}

function me() {
  return world.entities.get(world.avatarId);
}

/** Returns the id of the held block, or null. */
function held() {
  return me().attributes.holding;
}

/** Everything but the ground and this bot. */
function others() {
  return [...world.entities.values()].filter(
    (entity) => entity.id !== world.avatarId && footprint(entity) < 20,
  );
}

function isOn(upper, lower) {
  return (
    upper.id !== lower.id &&
    upper.position[1] > lower.position[1] + 0.1 &&
    distance(upper, lower) < (footprint(upper) + footprint(lower)) / 2
  );
}

function spot({ x, z, position }) {
  return position === undefined ? { x, z } : { x: position[0], z: position[2] };
}

/** The horizontal distance, in metres. */
function distance(a, b) {
  const [from, to] = [spot(a), spot(b)];
  return Math.hypot(from.x - to.x, from.z - to.z);
}

/** The longer of the horizontal edges. All boxes are unit cubes that are scaled; people are not. */
function footprint({ kind, scale }) {
  return kind.walker === undefined ? Math.max(scale[0], scale[2]) : 0.7;
}

/** The height of a block as it lies: its edges, projected onto the second row of its rotation matrix. */
function height({ scale, quaternion: [x, y, z, w] }) {
  const row = [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)];
  return row.reduce((sum, component, axis) => sum + Math.abs(component) * scale[axis], 0);
}

function clamp(coordinate) {
  return Math.min(24, Math.max(-24, coordinate));
}

/** The next event of a type. */
function event(type) {
  return new Promise((resolve) => {
    const off = world.on(type, (details) => {
      off();
      resolve(details);
    });
  });
}

/** Waits for a snapshot in which `condition` holds; returns false if none arrives within the time. */
async function until(condition, timeoutMs) {
  const startMs = performance.now();
  while (performance.now() - startMs < timeoutMs) {
    if (me() !== undefined && condition()) return true;
    await event("snapshot");
  }
  return false;
}

function seconds(count) {
  return new Promise((resolve) => setTimeout(resolve, count * 1000));
}
