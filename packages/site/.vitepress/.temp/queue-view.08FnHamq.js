var __defProp = Object.defineProperty;
var __typeError = (msg) => {
  throw TypeError(msg);
};
var __defNormalProp = (obj, key, value) => key in obj ? __defProp(obj, key, { enumerable: true, configurable: true, writable: true, value }) : obj[key] = value;
var __publicField = (obj, key, value) => __defNormalProp(obj, typeof key !== "symbol" ? key + "" : key, value);
var __accessCheck = (obj, member, msg) => member.has(obj) || __typeError("Cannot " + msg);
var __privateGet = (obj, member, getter) => (__accessCheck(obj, member, "read from private field"), getter ? getter.call(obj) : member.get(obj));
var __privateAdd = (obj, member, value) => member.has(obj) ? __typeError("Cannot add the same private member more than once") : member instanceof WeakSet ? member.add(obj) : member.set(obj, value);
var __privateSet = (obj, member, value, setter) => (__accessCheck(obj, member, "write to private field"), setter ? setter.call(obj, value) : member.set(obj, value), value);
var __privateMethod = (obj, member, method) => (__accessCheck(obj, member, "access private method"), method);
var _updatable, _count, _QueueModel_instances, putPlain_fn, counted_fn, _model, _log, _rows, _shown, _run, _timers, _puts, _QueueView_instances, play_fn, putNext_fn, putState_fn, putEvent_fn, say_fn, draw_fn;
import { e as element } from "./dom.DpkMfZBc.js";
import { U as UpdatableQueue } from "./lab.C8JcxGro.js";
const KEYS = ["A", "B", "C"];
const ENTRIES_MAX = 12;
class QueueModel {
  constructor() {
    __privateAdd(this, _QueueModel_instances);
    __publicField(this, "plain", []);
    __privateAdd(this, _updatable, makeQueue());
    /** The newest entry that the receiver of each queue took. */
    __publicField(this, "taken", {
      plain: void 0,
      updatable: void 0
    });
    __publicField(this, "replaced", 0);
    __publicField(this, "refused", { plain: 0, updatable: 0 });
    __privateAdd(this, _count, 0);
  }
  /** Puts a state; `key` is an index of {@link KEYS}. Returns the answer of the updatable queue. */
  putState(nowMs, key) {
    __privateSet(this, _count, __privateGet(this, _count) + 1);
    const value = { text: `${KEYS[key]}${__privateGet(this, _count)}`, putAtMs: nowMs };
    __privateMethod(this, _QueueModel_instances, putPlain_fn).call(this, { kind: "state", key: key + 1, value });
    return __privateMethod(this, _QueueModel_instances, counted_fn).call(this, __privateGet(this, _updatable).putState(key + 1, value));
  }
  putEvent(nowMs) {
    __privateSet(this, _count, __privateGet(this, _count) + 1);
    const value = { text: `!${__privateGet(this, _count)}`, putAtMs: nowMs };
    __privateMethod(this, _QueueModel_instances, putPlain_fn).call(this, { kind: "event", value });
    return __privateMethod(this, _QueueModel_instances, counted_fn).call(this, __privateGet(this, _updatable).putEvent(value));
  }
  /** The receiver of each queue takes the next entry. */
  take(nowMs) {
    const [plain, updatable] = [this.plain.shift(), __privateGet(this, _updatable).pop()];
    if (plain !== void 0) this.taken.plain = { entry: plain, ageMs: nowMs - plain.value.putAtMs };
    if (updatable !== void 0) {
      this.taken.updatable = { entry: updatable, ageMs: nowMs - updatable.value.putAtMs };
    }
  }
  /** The entries of the updatable queue, the next one first. The queue is emptied and filled again with the same entries. */
  entries() {
    const entries = [];
    for (let entry = __privateGet(this, _updatable).pop(); entry !== void 0; entry = __privateGet(this, _updatable).pop())
      entries.push(entry);
    for (const entry of entries) {
      if (entry.kind === "state") __privateGet(this, _updatable).putState(entry.key, entry.value);
      else __privateGet(this, _updatable).putEvent(entry.value);
    }
    return entries;
  }
}
_updatable = new WeakMap();
_count = new WeakMap();
_QueueModel_instances = new WeakSet();
putPlain_fn = function(entry) {
  if (this.plain.length < ENTRIES_MAX) this.plain.push(entry);
  else this.refused.plain += 1;
};
counted_fn = function(outcome) {
  if (outcome === "replaced") this.replaced += 1;
  if (outcome === "full") this.refused.updatable += 1;
  return outcome;
};
function makeQueue() {
  return new UpdatableQueue({ entriesMax: ENTRIES_MAX, bytesMax: 1024 }, () => 1);
}
const PUT_MS = 450;
const TAKE_MS = 900;
const STATES_PER_EVENT = 6;
function mountQueue(root) {
  const view = new QueueView(root);
  return () => view.stop();
}
class QueueView {
  constructor(root) {
    __privateAdd(this, _QueueView_instances);
    __privateAdd(this, _model, new QueueModel());
    __privateAdd(this, _log, element("p", { class: "queue-log", "aria-live": "polite" }));
    __privateAdd(this, _rows, {
      plain: element("div", { class: "queue-row" }),
      updatable: element("div", { class: "queue-row" })
    });
    __privateAdd(this, _shown, { plain: element("span"), updatable: element("span") });
    __privateAdd(this, _run, element("button", { type: "button" }));
    __privateAdd(this, _timers, []);
    __privateAdd(this, _puts, 0);
    const button = (text, act) => {
      const made = element("button", { type: "button" }, text);
      made.addEventListener("click", () => {
        act();
        __privateMethod(this, _QueueView_instances, draw_fn).call(this);
      });
      return made;
    };
    const puts = KEYS.map((name, key) => button(`Put state ${name}`, () => __privateMethod(this, _QueueView_instances, putState_fn).call(this, key)));
    __privateGet(this, _run).addEventListener("click", () => __privateGet(this, _timers).length > 0 ? this.stop() : __privateMethod(this, _QueueView_instances, play_fn).call(this));
    root.replaceChildren(
      element(
        "div",
        { class: "queue-animation" },
        element(
          "div",
          { class: "lab-buttons" },
          __privateGet(this, _run),
          ...puts,
          button("Put event", () => __privateMethod(this, _QueueView_instances, putEvent_fn).call(this)),
          button("Get", () => __privateGet(this, _model).take(performance.now())),
          button("Empty", () => {
            __privateSet(this, _model, new QueueModel());
          })
        ),
        queuePart("A plain queue", __privateGet(this, _shown).plain, __privateGet(this, _rows).plain),
        queuePart("The updatable queue", __privateGet(this, _shown).updatable, __privateGet(this, _rows).updatable),
        __privateGet(this, _log)
      )
    );
    __privateMethod(this, _QueueView_instances, draw_fn).call(this);
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) this.stop();
    else __privateMethod(this, _QueueView_instances, play_fn).call(this);
  }
  stop() {
    for (const timer of __privateGet(this, _timers)) clearInterval(timer);
    __privateSet(this, _timers, []);
    __privateGet(this, _run).textContent = "Run";
  }
}
_model = new WeakMap();
_log = new WeakMap();
_rows = new WeakMap();
_shown = new WeakMap();
_run = new WeakMap();
_timers = new WeakMap();
_puts = new WeakMap();
_QueueView_instances = new WeakSet();
play_fn = function() {
  __privateGet(this, _run).textContent = "Pause";
  const every = (milliseconds, act) => window.setInterval(() => {
    act();
    __privateMethod(this, _QueueView_instances, draw_fn).call(this);
  }, milliseconds);
  __privateSet(this, _timers, [
    every(PUT_MS, () => __privateMethod(this, _QueueView_instances, putNext_fn).call(this)),
    every(TAKE_MS, () => __privateGet(this, _model).take(performance.now()))
  ]);
};
putNext_fn = function() {
  __privateSet(this, _puts, __privateGet(this, _puts) + 1);
  if (__privateGet(this, _puts) % (STATES_PER_EVENT + 1) === 0) __privateMethod(this, _QueueView_instances, putEvent_fn).call(this);
  else __privateMethod(this, _QueueView_instances, putState_fn).call(this, __privateGet(this, _puts) % KEYS.length);
};
putState_fn = function(key) {
  const answer = __privateGet(this, _model).putState(performance.now(), key);
  __privateMethod(this, _QueueView_instances, say_fn).call(this, `put state ${KEYS[key]}: ${answer}`);
};
putEvent_fn = function() {
  __privateMethod(this, _QueueView_instances, say_fn).call(this, `put event: ${__privateGet(this, _model).putEvent(performance.now())}`);
};
say_fn = function(text) {
  const { replaced, refused } = __privateGet(this, _model);
  __privateGet(this, _log).textContent = `${text}. Replaced so far: ${replaced}. Refused because full: plain ${refused.plain}, updatable ${refused.updatable}.`;
};
draw_fn = function() {
  show(__privateGet(this, _rows).plain, __privateGet(this, _model).plain);
  show(__privateGet(this, _rows).updatable, __privateGet(this, _model).entries());
  __privateGet(this, _shown).plain.textContent = describe(__privateGet(this, _model).taken.plain);
  __privateGet(this, _shown).updatable.textContent = describe(__privateGet(this, _model).taken.updatable);
};
function queuePart(title, shown, row) {
  return element("div", { class: "queue-part" }, element("strong", {}, title), shown, row);
}
function show(row, entries) {
  row.replaceChildren(
    ...entries.map(({ kind, value }) => {
      const key = kind === "event" ? "event" : value.text[0];
      return element("span", { class: `queue-entry queue-${key}` }, value.text);
    })
  );
}
function describe(taken) {
  if (taken === void 0) return "The receiver has nothing yet.";
  return `The receiver got ${taken.entry.value.text}, ${(taken.ageMs / 1e3).toFixed(1)} s after its put.`;
}
export {
  mountQueue
};
