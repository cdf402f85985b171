/** The style of {@link WorldHud}, inside its shadow root. */
export const HUD_STYLE = `
:host { position: absolute; inset: 0; pointer-events: none; font: 15px/1.35 system-ui, sans-serif; color: #fff;
  overflow: hidden; text-shadow: 0 1px 2px #000a; }
[hidden] { display: none !important; }
.panel { background: #141b2bc7; border-radius: 10px; padding: 6px 12px; }
.top { position: absolute; top: max(10px, env(safe-area-inset-top)); left: 10px; right: 10px; display: flex;
  gap: 8px; align-items: flex-start; justify-content: space-between; }
.board { display: flex; gap: 14px; font-size: 20px; }
.board b { font-variant-numeric: tabular-nums; }
.middle { position: absolute; top: 18%; left: 50%; translate: -50% 0; text-align: center; font-size: 26px;
  max-width: 90%; }
.list { position: absolute; top: 60px; left: 10px; margin: 0; }
.list div { display: flex; gap: 10px; justify-content: space-between; }
.low { position: absolute; left: 10px; right: 10px; bottom: max(10px, env(safe-area-inset-bottom)); display: grid;
  gap: 8px; justify-items: start; }
.prompts { justify-self: center; display: flex; flex-wrap: wrap; gap: 6px; justify-content: center; }
.log { list-style: none; margin: 0; max-width: min(420px, 80%); }
.log li { overflow-wrap: anywhere; }
button, input { pointer-events: auto; font: inherit; color: inherit; background: #141b2bc7; border: 1px solid #fff5;
  border-radius: 10px; padding: 6px 12px; }
input { width: min(320px, 70vw); }
kbd { font: inherit; font-weight: 600; border: 1px solid #fff8; border-radius: 5px; padding: 0 6px; }
.help { position: absolute; top: 60px; right: 10px; display: grid; gap: 4px; }
.meter { position: absolute; left: 50%; bottom: 30%; translate: -50% 0; width: 160px; height: 8px; padding: 0;
  overflow: hidden; }
.meter div { height: 100%; background: #e9b44c; transform-origin: left; }
.stick { position: absolute; left: 0; top: 0; width: 112px; height: 112px; margin: -56px 0 0 -56px; border-radius: 50%;
  border: 2px solid #fff6; visibility: hidden; }
.stick.active { visibility: visible; }
.knob { position: absolute; left: 36px; top: 36px; width: 40px; height: 40px; border-radius: 50%; background: #fff9; }
.touch { position: absolute; right: 10px; bottom: 90px; display: grid; gap: 8px; justify-items: end; }
.touch button { min-width: 64px; min-height: 48px; touch-action: none; user-select: none; }
.touch button.offered { background: #2a7f86; }
@media (max-width: 600px) { .board { font-size: 17px; } .middle { font-size: 21px; } }
`;
