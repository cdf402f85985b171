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

const theme: Theme = {
  extends: DefaultTheme,
  enhanceApp({ app }) {
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
