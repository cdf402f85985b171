import { copyText, element } from "../dom.js";
import type { Status } from "../net.js";
import { words } from "../words.js";
import { type Ending, explainClose, isRefusal } from "./close-reason.js";

const GOOD_NEWS_MS = 2500;
const NOTICE_MS = 8000;
const HINTS_MS = 14_000;

/** Everything on the screen that is neither world nor chat nor figures. */
export class Hud {
  private readonly root = element("hud", HTMLElement);
  private readonly place = element("place", HTMLButtonElement);
  private readonly banner = element("banner", HTMLElement);
  private readonly notice = element("notice", HTMLElement);
  private readonly ended = element("ended", HTMLElement);
  private readonly hints = element("hints", HTMLElement);
  private readonly charge = element("charge", HTMLElement);
  private readonly chargeFill = this.charge.firstElementChild as HTMLElement;
  private readonly prompt = element("prompt", HTMLElement);
  private readonly people = document.createElement("small");
  private readonly room = document.createElement("span");
  private bannerTimer = 0;
  private noticeTimer = 0;
  private promptText = "";
  private wasOpen = false;

  constructor(onJoinAgain: () => void) {
    this.place.append(this.room, this.people);
    element("ended-again", HTMLButtonElement).addEventListener("click", onJoinAgain);
  }

  show(room: string, address: string): void {
    this.root.hidden = false;
    this.room.textContent = room;
    this.place.onclick = async () => {
      this.say((await copyText(address)) ? words.linkCopied : address);
    };
    window.setTimeout(() => this.hints.classList.add("gone"), HINTS_MS);
  }

  hide(): void {
    this.root.hidden = true;
  }

  /** How many take part; `isWatching`: one has no body here. */
  setPeople(count: number, isWatching: boolean): void {
    const who = count === 1 ? words.onlyYou : words.people(count);
    const text = isWatching ? `${who}, ${words.watching}` : who;
    if (this.people.textContent !== text) this.people.textContent = text;
  }

  setStatus(status: Status): void {
    this.place.classList.toggle("open", status === "open");
    this.place.classList.toggle("closed", status === "closed");
    if (status === "reconnecting") {
      this.setBanner(words.reconnecting, false);
    } else if (status === "connecting") {
      this.setBanner(words.connecting, false);
    } else if (status === "open") {
      this.ended.hidden = true;
      if (this.wasOpen && !this.banner.hidden) {
        this.setBanner(words.backAgain, true);
        this.bannerTimer = window.setTimeout(() => {
          this.banner.hidden = true;
        }, GOOD_NEWS_MS);
      } else {
        this.banner.hidden = true;
      }
      this.wasOpen = true;
    } else {
      this.banner.hidden = true;
    }
  }

  /** A connection ended; says why, and for good when none will follow. */
  lost(error: Ending, retryInMs: number | undefined): void {
    const { cause, cure } = explainClose(error);
    if (retryInMs !== undefined) {
      // A close frame names its cause; a connection that just broke off has none worth telling.
      const broken = this.wasOpen && (error.code === "lost" || error.code === "unreachable");
      const what = isRefusal(error) ? `${cause} ${cure}` : cause;
      this.setBanner(broken ? words.reconnecting : words.tryingAgain(what), false);
      this.banner.title = `${cause} ${cure}`;
      return;
    }
    this.banner.hidden = true;
    element("ended-cause", HTMLElement).textContent = cause;
    element("ended-cure", HTMLElement).textContent = cure;
    this.ended.hidden = false;
    element("ended-again", HTMLButtonElement).focus();
  }

  say(text: string): void {
    window.clearTimeout(this.noticeTimer);
    this.notice.textContent = text;
    this.notice.hidden = false;
    this.noticeTimer = window.setTimeout(() => {
      this.notice.hidden = true;
    }, NOTICE_MS);
  }

  /** What it says now beside the connection's room, as one line; empty for nothing. */
  get notices(): string {
    const shown = [this.banner, this.notice].filter((line) => !line.hidden);
    return shown.map((line) => line.textContent).join(" ");
  }

  /** Shows how much of what is being done would be done now, 0 to 1; undefined while nothing is. */
  setCharge(share: number | undefined): void {
    this.charge.hidden = share === undefined;
    if (share === undefined) return;
    this.chargeFill.style.scale = `${share} 1`;
    this.charge.setAttribute("aria-valuenow", String(Math.round(share * 100)));
  }

  setPrompt(text: string): void {
    if (text === this.promptText) return;
    this.promptText = text;
    this.prompt.textContent = text;
    this.prompt.hidden = text === "";
  }

  private setBanner(text: string, good: boolean): void {
    window.clearTimeout(this.bannerTimer);
    this.banner.textContent = text;
    this.banner.title = "";
    this.banner.classList.toggle("good", good);
    this.banner.hidden = false;
  }
}
