import { copyText, element } from "../dom.js";
import { shareAddress } from "../page-address.js";

/** Asks who one is and where one wants to go. */
export class StartScreen {
  private readonly screen = element("start", HTMLElement);
  private readonly name = element("name", HTMLInputElement);
  private readonly room = element("room", HTMLInputElement);
  private readonly link = element("share-link", HTMLAnchorElement);

  constructor(onEnter: (name: string, room: string) => void) {
    this.room.addEventListener("input", () => {
      this.room.value = this.room.value.toLowerCase().replaceAll(" ", "-");
      this.writeLink();
    });
    element("share-copy", HTMLButtonElement).addEventListener("click", async (event) => {
      const button = event.currentTarget as HTMLButtonElement;
      button.textContent = (await copyText(this.link.href)) ? "copied" : "copy it by hand";
    });
    element("enter-form", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      this.hide();
      onEnter(this.name.value.trim(), this.room.value);
    });
  }

  show(name: string, room: string): void {
    this.name.value = name;
    this.room.value = room;
    this.writeLink();
    this.screen.hidden = false;
    this.screen.classList.remove("leaving");
    // A keyboard that slides over the screen unasked would hide what there is to see.
    if (!window.matchMedia("(pointer: coarse)").matches) this.name.focus();
  }

  hide(): void {
    this.screen.classList.add("leaving");
    window.setTimeout(() => {
      if (this.screen.classList.contains("leaving")) this.screen.hidden = true;
    }, 500);
  }

  skip(): void {
    this.screen.hidden = true;
  }

  private writeLink(): void {
    const address = shareAddress(window.location, this.room.value);
    this.link.href = address;
    this.link.textContent = address.replace(/^https?:\/\//, "");
  }
}
