/** The style of {@link WorldHud}, inside its shadow root. */
export const HUD_STYLE = `
:host { position: absolute; inset: 0; pointer-events: none; font: 15px/1.35 system-ui, sans-serif; color: #fff;
  overflow: hidden; text-shadow: 0 1px 2px #000a; container: hud / size; }
[hidden] { display: none !important; }
p, ul, ol, dl, form { margin: 0; padding: 0; list-style: none; }
.panel { background: #141b2bc7; border-radius: 10px; padding: 6px 12px; overflow-wrap: anywhere; }
.top { position: absolute; top: max(10px, env(safe-area-inset-top)); left: 10px; right: 10px; display: flex;
  gap: 8px; align-items: flex-start; justify-content: space-between; }
.corner { display: flex; gap: 8px; }
.board { display: flex; gap: 14px; font-size: 20px; padding: 4px 12px; }
.board p { display: flex; gap: 14px; }
.board b, #clock { font-variant-numeric: tabular-nums; }
.side[data-team=red] b { color: #ff9d8f; }
.side[data-team=blue] b { color: #9cc7ff; }
.said { position: absolute; top: 58px; left: 10px; right: 10px; display: grid; gap: 8px; justify-items: start; }
.said > * { max-width: min(360px, 100%); box-sizing: border-box; }
.said .aim { justify-self: center; max-width: min(560px, 100%); border-radius: 99px; padding: 4px 16px;
  background: #141b2be0; font-size: 20px; font-weight: 700; text-align: center; text-wrap: balance; }
.notice { background: #7a3b12d9; font-size: 14px; }
.notice.good { background: #1d6b3ad9; }
.list { display: grid; grid-template-columns: auto 1fr; gap: 0 10px; font-size: 14px; }
.list dd { margin: 0; font-weight: 600; }
.pop { display: inline-block; animation: grow 0.25s ease-out; }
.list dd.pop { display: block; transform-origin: left; }
@keyframes grow { 40% { scale: 1.4; } }
.list :is(.more, .title) { grid-column: 1 / -1; }
.list .title { font-weight: 600; }
.swatch { display: inline-block; width: 1em; height: 1em; border-radius: 3px; vertical-align: -2px; }
.crowd { pointer-events: auto; max-height: 50cqh; overflow: auto; }
.crowd li { display: flex; gap: 8px; align-items: center; justify-content: space-between; padding: 3px 0; }
.crowd button { padding: 3px 10px; }
.crowd label { display: block; padding: 3px 0; }
.crowd .gyroscope { display: none; }
:host([data-device=touch]) .crowd .gyroscope { display: block; }
.crowd li.speaking span { color: #8fe0a8; }
.crowd input { width: auto; opacity: 1; }
button[aria-pressed=true] { background: #2a7f86; }
.middle { position: absolute; top: 18%; left: 50%; translate: -50% 0; display: grid; gap: 8px; justify-items: center;
  width: 90%; }
.message { text-align: center; font-size: 26px; }
.low { position: absolute; left: 10px; right: 10px; bottom: max(10px, env(safe-area-inset-bottom)); display: grid;
  gap: 8px; justify-items: center; }
.slots { display: flex; gap: 6px; }
.slots button { position: relative; width: 46px; height: 46px; padding: 5px; touch-action: manipulation; }
.slots button[aria-pressed=true] { border-color: #e9b44c; background: #141b2bc7; outline: 2px solid #e9b44c; }
.slots i { display: grid; place-items: center; height: 100%; border-radius: 6px; font: 600 11px system-ui; overflow: hidden; }
.slots kbd, .slots b { position: absolute; border: 0; margin: 0; padding: 0 2px; font-size: 11px; }
.slots kbd { top: 1px; left: 2px; }
.slots b { right: 3px; bottom: 1px; }
.prompts { display: flex; flex-wrap: wrap; gap: 6px; justify-content: center; font-size: 13px; }
.chat { justify-self: start; display: grid; gap: 6px; max-width: min(420px, 80%); }
.log { display: grid; gap: 3px; justify-items: start; max-height: 30cqh; overflow: hidden; }
.log li { background: #141b2bc7; border-radius: 8px; padding: 2px 10px; overflow-wrap: anywhere; }
.log li.old { display: none; }
.log.open { overflow: auto; pointer-events: auto; }
.log.open li.old { display: block; }
.log b { margin-right: 8px; }
.log .event { font-style: italic; }
button, input { pointer-events: auto; font: inherit; color: inherit; background: #141b2bc7; border: 1px solid #fff5;
  border-radius: 10px; padding: 6px 12px; }
.top button.panel { border: 0; min-height: 34px; }
button:focus-visible, input:focus-visible { outline: 2px solid #e9b44c; outline-offset: 1px; }
input { width: min(260px, 60cqw); box-sizing: border-box; opacity: 0.75; }
.typing input { width: min(360px, 70cqw); opacity: 1; }
input::placeholder { color: #fffc; }
kbd { font: inherit; font-weight: 600; border: 1px solid #fff8; border-radius: 5px; padding: 0 6px; margin-right: 4px; }
.help { position: absolute; top: 58px; right: 10px; display: grid; gap: 5px; max-width: calc(100% - 44px); }
.help:empty { display: none; }
.emotes { position: absolute; top: 58px; right: 10px; display: grid; grid-template-columns: repeat(3, auto); gap: 6px;
  pointer-events: auto; }
.intro { position: absolute; left: 10px; bottom: 58px; width: min(320px, calc(100% - 20px)); max-height: calc(100% - 120px);
  box-sizing: border-box; background: #141b2bd9; padding: 12px 16px; display: flex; flex-direction: column; gap: 6px;
  font-size: 14px; }
:host(:not([data-device=keyboard])) .intro { bottom: max(10px, env(safe-area-inset-bottom)); }
@container hud (max-width: 960px) { .help:has(~ .intro:not([hidden])) { display: none; } }
.intro h2 { margin: 0; font-size: 17px; }
.intro ul { list-style: disc; padding-left: 1.2em; overflow: auto; min-height: 0; }
.intro .row { display: flex; gap: 12px; align-items: center; justify-content: space-between; }
.intro-world { text-transform: capitalize; opacity: 0.8; }
.meter { position: absolute; left: 50%; bottom: 30%; translate: -50% 0; width: 160px; height: 8px; padding: 0;
  overflow: hidden; }
.meter div { height: 100%; background: #e9b44c; transform-origin: left; }
.flash { position: absolute; inset: 0; opacity: 0; box-shadow: inset 0 0 90px 20px var(--flash, #ff4d3d); }
.flash.on { animation: flash 0.6s ease-out; }
@keyframes flash { from { opacity: 0.9; } to { opacity: 0; } }
.stick { position: absolute; left: 0; top: 0; width: 112px; height: 112px; margin: -56px 0 0 -56px; border-radius: 50%;
  border: 2px solid #fff6; visibility: hidden; }
.stick.active { visibility: visible; }
.knob { position: absolute; left: 36px; top: 36px; width: 40px; height: 40px; border-radius: 50%; background: #fff9; }
.stick-hint { position: absolute; left: 26px; bottom: 84px; width: 84px; height: 84px; border-radius: 50%;
  border: 2px dashed #fff9; display: none; place-items: center; }
.stick.active ~ .stick-hint { visibility: hidden; }
.touch { position: absolute; right: 10px; bottom: max(16px, env(safe-area-inset-bottom)); display: none; gap: 8px;
  justify-items: end; }
.actions { display: flex; flex-flow: row-reverse wrap; gap: 8px; max-width: 60cqw; }
.talk { display: flex; gap: 8px; }
.touch button { min-width: 64px; min-height: 48px; touch-action: none; user-select: none; }
.touch button.emote { min-width: 48px; }
.touch button.offered { background: #2a7f86; }
.touch button.idle { visibility: hidden; }
.touch button.down { background: #e9b44c; color: #141b2b; text-shadow: none; }
:host([data-device=touch]) .touch, :host([data-device=touch]) .stick-hint { display: grid; }
:host([data-device=touch]) .top .emote, :host(:not([data-device=keyboard])) :is(.slots, .emotes) kbd,
:host([data-device=gamepad]) .intro small, :host([data-device=touch]) .prompts,
:host(:not([data-device=keyboard])) .chat:not(.typing) form { display: none; }
:host([data-device=touch]) .chat { max-width: calc(100% - 96px); }
/* Below a wide picture's score, the aim is beside the list. */
@container hud (min-width: 900px) { .said .aim { position: absolute; left: 50%; translate: -50% 0; max-width: calc(100% - 740px); } }
@container hud (max-width: 600px) { .said .aim { font-size: 16px; } .board { font-size: 17px; } .message { font-size: 21px; } .list { font-size: 13px; } }
@container hud (max-height: 480px) { .stick-hint { bottom: 64px; } .touch { grid-auto-flow: column; align-items: end; }
  .said .aim { font-size: 15px; padding: 2px 12px; } .actions { max-width: 36cqw; } .log { max-height: 40px; } .message { font-size: 20px; } }
@media (prefers-reduced-motion: reduce) { .flash.on { animation-duration: 0.01s; } .pop { animation: none; } }
`;
