/** All texts of the page in English. Another language is another file like this one, listed in `words.ts`. */
import { pageTexts } from "@nowcast/page";

function oneOfAll(names: string): string {
  const all = names.split(" ");
  return all[Math.floor(Math.random() * all.length)] ?? "";
}

export const ENGLISH = {
  // The texts of the parts of `@nowcast/page`.
  ...pageTexts,

  // The start screen.
  description: "A shared world in the browser: walk in, and be there with others.",
  brand: "shared worlds",
  tagline: "One world, everybody in it, as it is now.",
  yourName: "Your name",
  room: "Room",
  roomRule: "1 to 32 of a–z, 0–9, - and _",
  worlds: "Worlds: choose one to enter",
  enter: "Enter",
  enterRoom: (room: string) => (room === "" ? "Enter" : `Enter ${room}`),
  /** The button of a gamepad that enters. */
  padEnter: "A",
  /** A name for a visitor who has none yet. */
  suggestName: () =>
    `${oneOfAll("Amber Brave Calm Clever Lucky Merry Quick Swift")} ${oneOfAll("Badger Finch Fox Hare Lynx Otter Owl Seal")}`,
  shareBefore: "Nobody else here yet? Open",
  shareBetween: "in a second tab, or",
  shareCopy: "copy the link",
  shareAfter: "for a friend.",
  makePrivate: "Make it private",
  cannotBePrivate: "The name of this world is too long for a private room.",
  isPrivate: "This room is in no list. Only people who have its link can enter it.",
  copied: "copied",
  copyByHand: "copy it by hand",
  peopleHere: (people: number) => (people === 1 ? "1 person here" : `${people} people here`),
  roomsOpen: (rooms: number) => (rooms === 1 ? "1 room" : `${rooms} rooms`),

  // The local avatar and its gestures.
  outfit: "Avatar",
  outfitOpen: "Avatar…",
  outfitParts: {
    shirt: "Shirt",
    trousers: "Trousers",
    skin: "Skin",
    hair: "Hair",
    hat: "Hat",
    build: "Build",
  },
  outfitAny: "any",
  outfitNames: { none: "none", cap: "cap", beanie: "beanie", crown: "crown", slim: "slim", broad: "broad" },
  outfitColor: (part: string, number: number) => `${part}, colour ${number}`,
  outfitNote: "Worlds may give shirts the colour of a team.",

  // The card with the goal of a world.

  // The picture and the elements over it.
  canvas: "The shared world. Move with W, A, S, D or the arrow keys.",
  canvasTouch:
    "The shared world. Press the left half and slide your finger to move; drag over the right half to look.",
  peopleOpen: "People in this room",
  peopleTitle: "People in this room",
  copyLink: "Copy the link to this room",
  invite: "Invite",
  figures: "Network figures",
  figuresKey: "Network figures (H)",
  graph: "Spacing of the latest snapshots and bytes a second",
  spacing: "spacing",
  delay: "delay",
  bytes: "bytes",
  settings: "Settings",
  console: "Rules of this world",
  consoleKey: "Rules of this world (`)",
  rulesFault: "The rules of this world have a fault: “Rules of this world” (`) shows it.",
  joinAgain: "Join again",
  anotherRoom: "Another room",
  helpKey: "Keys of this world (?)",
  pictureLost: "The picture is gone.",
  pictureLostCure:
    "The graphics driver has taken it away, and the page waits to get it back. If nothing happens, reload the page.",
  reloadPage: "Reload the page",

  // The room to which an address leads.
  badRoomName: (asked: string) =>
    `“${asked}” is not the name of a room: names are 1 to 32 of a–z, 0–9, - and _. Choose another one.`,
  lowerCaseRoom: (asked: string, room: string) =>
    `Names of rooms are in lower case: “${asked}” leads to “${room}”.`,
  roomOfWorld: (room: string, world: string) => `Room “${room}” of the world “${world}”.`,
  noSuchWorld: (room: string, world: string) =>
    `Room “${room}” shows the first world, “${world}”, because no world is called “${room}”.`,

  // The past of a room.
  past: "As it was",
  pastOf: (room: string) => `${room}, as it was`,
  pastInexact: "almost",
  pastMoment: "The moment that is shown",
  pastPlay: "Play",
  pastPause: "Pause",
  pastCopy: "Copy this moment into a new room",
  pastCopyName: "The name of the new room",
  pastPresent: "Back to now",

  // The keys in the settings.
  keyboard: "Keys",
  keysReset: "Restore all keys",
  keysRestored: "All keys are restored.",
  pressKey: "Press a key",
  pressKeyFor: (label: string, key: string) => `Press the new key for “${label}”. Escape keeps ${key}.`,
  keyMoved: (label: string, key: string) => `“${label}” has the key ${key}.`,
  walkForward: "walk forward",
  walkBack: "walk back",
  walkLeft: "walk left",
  walkRight: "walk right",
  turnLeft: "turn left",
  turnRight: "turn right",
  lookUp: "look up",
  lookDown: "look down",

  // The console.
  runs: (version: number) => `Version ${version} runs`,
  outcome: {
    runs: "runs",
    refused: "refused",
    rolled_back: "taken back",
    failed: "failed",
    printed: "printed",
  },
  version: (version: number) => `version ${version}`,
  earlierRuns: "An earlier version runs.",
  nothingReported: "Nothing was reported yet.",

  // Settings.
  network: "Network",
  name: "Name",
  snapshots: "Snapshots a second",
  asServer: "as the server likes",
  picture: "Picture",
  quality: "Quality",
  automatic: "automatic",
  low: "low",
  medium: "medium",
  high: "high",
  light: "Light",
  asSystem: "as the system",
  day: "day",
  dusk: "dusk",
  shadows: "Shadows",
  sound: "Sound",
  volume: "Volume",
  soundOn: "Play the sounds of the world",
  looking: "Looking",
  speed: "Speed",
  invert: "Invert up and down",
  headset: "Headset",
  enterVr: "Enter VR",
  vrStates: {
    ready: "Put on the headset and press “Enter VR”.",
    insecure: "A headset needs an encrypted page (https), or a server on the same machine.",
    unknown: "This browser knows no headsets: it has no WebXR.",
    missing: "No headset is connected to this browser.",
  },
  vrFailed: (why: string) => `The headset cannot be used: ${why}`,
  vrWalk: "Walk by the left stick",
  vrSmoothTurn: "Turn smoothly instead of in steps",
  vrVignette: "See less while being moved",
  voice: "Voice",
  leaveRoom: "Leave the room",
  done: "Done",
  machine: (quality: string, renderer: string) => `Picture: ${quality} on ${renderer}`,

  // Network metrics: a label, and its meaning.
  rows: {
    ping: ["Ping", "Round trip to the server and back"],
    delay: ["Delay", "Interpolation delay: how far in the past the world is shown so that it moves smoothly"],
    jitter: ["Jitter", "How unevenly snapshots arrive"],
    loss: ["Loss", "Of the packets that this page sent, those that were lost"],
    age: ["Age", "How old the server's news is when it arrives"],
    packets: ["Packets", "Messages received in a second"],
    bytes: ["Bytes", "Payload received in a second"],
    entities: ["Entities", "Things in this world"],
    fps: ["Frames", "Frames drawn in a second"],
    superseded: ["Superseded", "Values that were never sent, because newer ones replaced them"],
    resent: ["Resent", "Values and events that were sent again after a loss"],
    reconnects: ["Rejoined", "Times that a lost connection was replaced"],
    carrier: ["Carrier", "Carrier of the messages"],
  },

  noWebGl: "This browser offers no WebGL 2. Turn on hardware acceleration, or use a newer browser.",
};
