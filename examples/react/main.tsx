import { NowcastWorldElement } from "@nowcast/page/element";
import { usePlayers, useScreen, WorldProvider } from "@nowcast/react";
import type { World } from "nowcast/world";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

function Board() {
  const score = useScreen<{ red: number; blue: number }>("score");
  const names = usePlayers().map(({ name }) => name);
  return <p className="board">{`Red ${score?.red ?? 0}, blue ${score?.blue ?? 0} · ${names.join(", ")}`}</p>;
}

/** The element joins and draws the world; React shows texts over it. */
function show(world: World): void {
  createRoot(document.querySelector("main")!).render(
    <StrictMode>
      <WorldProvider world={world}>
        <Board />
      </WorldProvider>
    </StrictMode>,
  );
}

const element = new NowcastWorldElement();
element.setAttribute("src", `/r/${new URLSearchParams(location.search).get("room") ?? "football"}`);
element.setAttribute("name", "Ada");
element.setAttribute("hud", "off");
document.body.prepend(element);
if (element.page) show(element.page.world);
