/** The default theme of VitePress, with the components that pages name. */
import type { Theme } from "vitepress";
import DefaultTheme from "vitepress/theme";
import { defineComponent, h, onBeforeUnmount, onMounted, ref } from "vue";
import "./theme.css";

type Mount = (root: HTMLElement) => () => void;

/** A component whose content is plain DOM. Its code is loaded in the browser, when the page shows it. */
function plainComponent(name: string, load: () => Promise<Mount>) {
  return defineComponent({
    name,
    setup() {
      const root = ref<HTMLElement>();
      let unmount: (() => void) | undefined;
      let isGone = false;
      onMounted(async () => {
        const mount = await load();
        if (!isGone && root.value !== undefined) unmount = mount(root.value);
      });
      onBeforeUnmount(() => {
        isGone = true;
        unmount?.();
      });
      return () => h("div", { ref: root });
    },
  });
}

/** Switches all examples of a page to the language that the reader has chosen in one, which stays at its place. */
function switchLanguage({ target, isTrusted }: MouseEvent): void {
  const labels = [...document.querySelectorAll<HTMLLabelElement>(".vp-code-group .tabs label")];
  const chosen = labels.find((label) => label === target);
  if (chosen === undefined || !isTrusted) return;
  const top = chosen.getBoundingClientRect().top;
  for (const label of labels) if (label !== chosen && label.textContent === chosen.textContent) label.click();
  window.scrollBy(0, chosen.getBoundingClientRect().top - top);
}

const theme: Theme = {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    if (typeof document !== "undefined") document.addEventListener("click", switchLanguage);
    app.component(
      "LinkLab",
      plainComponent("LinkLab", async () => (await import("./lab/lab-view.js")).mountLab),
    );
    app.component(
      "LiveWorld",
      plainComponent("LiveWorld", async () => (await import("./live/live-world.js")).mountLiveWorld),
    );
    app.component(
      "QueueAnimation",
      plainComponent("QueueAnimation", async () => (await import("./queue/queue-view.js")).mountQueue),
    );
  },
};

export default theme;
