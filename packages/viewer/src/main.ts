import type { World } from "nowcast/world";
import { element } from "./dom.js";
import { startFrameLoop } from "./frame-loop.js";
import {
  basePath,
  readAddress,
  readMoment,
  shareAddress,
  withMoment,
  withoutMoment,
  worldAddress,
} from "./page-address.js";
import { loadSettings, oneOf } from "./settings.js";
import { OutfitPicker } from "./start/outfit-picker.js";
import { SettingsPanel } from "./start/settings-panel.js";
import { StartScreen } from "./start/start-screen.js";
import { fetchWorlds } from "./start/worlds.js";
import { Viewer } from "./viewer.js";
import { fillPage, words } from "./words.js";
import { XrToggle } from "./xr/xr-toggle.js";

declare global {
  interface Window {
    /**
     * An object for the console and for tests. `world` is the SDK's object of the current connection, or `undefined` on the
     * start screen. `viewer` is the whole client.
     */
    nowcast: {
      readonly world: World | undefined;
      readonly viewer: Viewer;
    };
  }
}

function main(): void {
  const address = readAddress(window.location.pathname, window.location.search);
  const showRoom = (room: string) => {
    const { pathname, search } = window.location;
    // A relative address of the icon would change with the address of the page.
    for (const icon of document.querySelectorAll<HTMLLinkElement>("link[rel=icon]"))
      icon.setAttribute("href", icon.href);
    window.history.replaceState(null, "", `${basePath(pathname)}r/${room}${search}`);
  };
  const settings = loadSettings();
  // Options in the address apply to this visit; they are stored only if the user changes a setting.
  if (address.name !== undefined) settings.name = address.name;
  if (address.networkHz !== undefined) settings.networkHz = address.networkHz;
  settings.quality = oneOf(address.quality, ["auto", "low", "medium", "high"], settings.quality);
  settings.light = oneOf(address.light, ["auto", "day", "dusk"], settings.light);

  document.body.classList.toggle("bare", !address.hud);

  const iceServers = address.stun === undefined ? [] : [{ urls: address.stun }];
  const viewer = new Viewer(element("world", HTMLCanvasElement), settings, iceServers);
  window.nowcast = {
    get world() {
      return viewer.view?.world;
    },
    viewer,
  };

  let { room } = address;
  /** The text about the room to which the address leads, as soon as the room is known. */
  let askedRoom = address.askedRoom;
  let welcomedRoom: string | undefined;
  const enter = (room: string) => {
    const { carrier, token, at } = address;
    const label = at === undefined ? room : words.pastOf(room);
    document.title = `${label} · Nowcast`;
    const share = shareAddress(window.location, room, at);
    viewer.enter(worldAddress(window.location, room, at), label, share, { carrier, token });
    // A page in a frame leaves the keyboard with the page around it.
    if (address.hud) viewer.stage.canvas.focus({ preventScroll: true });
  };
  const leave = () => {
    viewer.leave();
    viewer.veil.drop();
    welcomedRoom = undefined;
    document.title = "Nowcast";
    start.show(settings.name, room);
  };
  viewer.listener = {
    anotherRoom: leave,
    welcomed: (entered, world) => {
      const isOfWorld = entered === world || entered.startsWith(`${world}-`);
      const describe = isOfWorld ? words.roomOfWorld : words.noSuchWorld;
      if (entered !== world) viewer.hud.setWorld(describe(entered, world));
      // It is removed here, because it would be shown again after a reconnect.
      if (welcomedRoom === entered) return;
      welcomedRoom = entered;
      if (address.at === undefined) void viewer.hud.introduce(world);
      if (askedRoom !== undefined) viewer.hud.chat.addEvent(words.lowerCaseRoom(askedRoom, entered));
      askedRoom = undefined;
    },
    present: () => window.location.assign(withoutMoment(window.location.search)),
    momentShown: (time) => {
      const moment = readMoment(time);
      if (moment === undefined) return;
      const search = withMoment(window.location.search, moment);
      window.history.replaceState(null, "", `${window.location.pathname}${search}`);
    },
    sentTo: (to) => {
      viewer.veil.cover();
      viewer.leave();
      room = to;
      showRoom(to);
      enter(to);
    },
  };
  const enterNamed = async () => {
    room ??= (await fetchWorlds())[0]?.name;
    if (room !== undefined) return enter(room);
    viewer.backdrop.show();
    start.show(settings.name, room);
  };
  const start = new StartScreen((name, chosenRoom) => {
    viewer.change({ name });
    if (chosenRoom !== room) askedRoom = undefined;
    room = chosenRoom;
    showRoom(chosenRoom);
    enter(chosenRoom);
  });
  new SettingsPanel(viewer, leave);
  const outfit = new OutfitPicker(element("start-outfit", HTMLElement), (outfit) =>
    viewer.change({ outfit }),
  );
  element("outfit-open", HTMLButtonElement).addEventListener("click", () => {
    outfit.show(viewer.settings.outfit);
    element("outfit", HTMLDialogElement).showModal();
  });
  new XrToggle(viewer);
  startFrameLoop(viewer);
  // If the address has a name that no room can have, no room is entered, because the user did not ask for
  // another room.
  const badName = room === undefined ? askedRoom : undefined;
  if (badName !== undefined) {
    start.show(settings.name, undefined, words.badRoomName(badName.slice(0, 40)));
  } else if (address.enter || address.at !== undefined) {
    start.skip();
    // The sky stays empty until the world comes.
    viewer.backdrop.hide();
    if (room !== undefined && askedRoom !== undefined) {
      showRoom(room);
    }
    // The first picture takes by far the longest. If the page joined before the first picture, the drawing time would
    // be measured as a delay of the network.
    requestAnimationFrame(() => requestAnimationFrame(() => void enterNamed()));
  } else {
    start.show(settings.name, room);
  }
}

/** Without graphics there is no client: shows the missing feature and a remedy on the start screen. */
function explainFailure(error: unknown): void {
  const message = document.createElement("p");
  message.setAttribute("role", "alert");
  message.textContent = error instanceof Error ? error.message : String(error);
  element("enter-form", HTMLFormElement).replaceChildren(message);
  element("start", HTMLElement).classList.add("ready");
}

try {
  fillPage(document);
  main();
} catch (error) {
  explainFailure(error);
  throw error;
}
