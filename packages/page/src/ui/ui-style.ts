/** The style of {@link WorldUi}, inside its shadow root. A page themes it by the custom properties of its container. */
export const UI_STYLE = `
:host { position: absolute; inset: 0; pointer-events: none; overflow: hidden; z-index: 3;
  font: var(--ui-font, 15px/1.35 system-ui, sans-serif); color: var(--ui-color, #fff); }
[hidden] { display: none !important; }
.corner { position: absolute; display: grid; gap: 8px; max-width: min(320px, 60%); }
.top_left { left: 12px; top: 96px; }
.top { left: 50%; top: 96px; translate: -50% 0; }
.top_right { right: 12px; top: 96px; justify-items: end; }
.left { left: 12px; top: 50%; translate: 0 -50%; }
.center { left: 50%; top: 50%; translate: -50% -50%; }
.right { right: 12px; top: 50%; translate: 0 -50%; justify-items: end; }
.bottom_left { left: 12px; bottom: 160px; }
.bottom { left: 50%; bottom: 120px; translate: -50% 0; }
.bottom_right { right: 12px; bottom: 160px; justify-items: end; }
.over { position: absolute; left: 0; top: 0; }
.over .panel { position: absolute; left: 0; top: 0; width: max-content; max-width: 220px; }
.panel { display: grid; gap: 6px; padding: 8px 12px; border-radius: var(--ui-radius, 10px);
  background: var(--ui-background, #141b2bd9); overflow-wrap: anywhere; }
h2 { margin: 0; font-size: 1em; }
p { margin: 0; }
.text b { font-variant-numeric: tabular-nums; }
.bar { position: relative; min-width: 140px; height: 18px; border-radius: 9px; background: #fff3; overflow: hidden; }
.fill { position: absolute; inset: 0; background: var(--ui-accent, #e9b44c); transform-origin: left; }
.bar span { position: relative; display: block; padding: 0 8px; font-size: 12px; line-height: 18px;
  text-shadow: 0 1px 2px #000c; }
ol { list-style: none; margin: 0; padding: 0; display: grid; gap: 4px; }
button { pointer-events: auto; min-height: 32px; width: 100%; font: inherit; color: inherit; text-align: start;
  padding: 4px 12px; border: 1px solid #fff6; border-radius: 8px; background: #fff1; cursor: pointer; }
.input { display: flex; gap: 4px; }
.input button { width: auto; }
.input input { pointer-events: auto; min-width: 0; flex: 1; min-height: 32px; font: inherit; color: inherit; padding: 4px 8px;
  border: 1px solid #fff6; border-radius: 8px; background: #0004; }
.input input:focus-visible { outline: 2px solid var(--ui-accent, #e9b44c); outline-offset: 1px; }
.picture { display: block; width: 100%; height: auto; border-radius: 6px; }
button:hover, button:focus-visible { background: #fff3; }
button:focus-visible { outline: 2px solid var(--ui-accent, #e9b44c); outline-offset: 1px; }
button:disabled { opacity: 0.5; cursor: default; }
@media (pointer: coarse) { button { min-height: 44px; } }
/* On an upright phone, panels at a side end above the rows of buttons. */
@media (pointer: coarse) and (max-width: 620px) { .left, .right { top: 150px; translate: none; align-content: start;
  bottom: calc(106px + var(--action-rows, 1) * 74px); }
  :is(.left, .right) .panel { max-height: 100%; overflow: auto; pointer-events: auto; box-sizing: border-box; } }
@media (pointer: coarse) and (max-height: 520px) { .left, .right { top: 62px; translate: none; align-content: start;
  bottom: 12px; }
  :is(.left, .right) .panel { max-height: 100%; overflow: auto; pointer-events: auto; box-sizing: border-box; } }
`;
