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
var _segments, _first, _entries, _bytes, _UpdatableQueue_instances, leaveSegment_fn;
class UpdatableQueue {
  constructor(bounds, bytesOf) {
    __privateAdd(this, _UpdatableQueue_instances);
    __privateAdd(this, _segments, [{ states: /* @__PURE__ */ new Map(), event: void 0 }]);
    /** Segments before this index were taken; they are dropped in batches. */
    __privateAdd(this, _first, 0);
    __privateAdd(this, _entries, 0);
    __privateAdd(this, _bytes, 0);
    /** States that were replaced before they were taken. */
    __publicField(this, "superseded", 0);
    this.bounds = bounds;
    this.bytesOf = bytesOf;
  }
  get entries() {
    return __privateGet(this, _entries);
  }
  get bytes() {
    return __privateGet(this, _bytes);
  }
  get isEmpty() {
    return __privateGet(this, _entries) === 0;
  }
  putState(key, value) {
    const { states } = __privateGet(this, _segments)[__privateGet(this, _segments).length - 1];
    const bytes = this.bytesOf(value);
    if (bytes > this.bounds.bytesMax) return "too large";
    const replaced = states.get(key);
    const freed = replaced === void 0 ? 0 : this.bytesOf(replaced);
    const isFull = replaced === void 0 && __privateGet(this, _entries) >= this.bounds.entriesMax;
    if (isFull || __privateGet(this, _bytes) - freed + bytes > this.bounds.bytesMax) return "full";
    states.set(key, value);
    __privateSet(this, _bytes, __privateGet(this, _bytes) + (bytes - freed));
    if (replaced !== void 0) {
      this.superseded += 1;
      return "replaced";
    }
    __privateSet(this, _entries, __privateGet(this, _entries) + 1);
    return "queued";
  }
  putEvent(value) {
    const bytes = this.bytesOf(value);
    if (bytes > this.bounds.bytesMax) return "too large";
    if (__privateGet(this, _entries) >= this.bounds.entriesMax || __privateGet(this, _bytes) + bytes > this.bounds.bytesMax) return "full";
    __privateGet(this, _segments)[__privateGet(this, _segments).length - 1].event = { value };
    __privateGet(this, _segments).push({ states: /* @__PURE__ */ new Map(), event: void 0 });
    __privateSet(this, _entries, __privateGet(this, _entries) + 1);
    __privateSet(this, _bytes, __privateGet(this, _bytes) + bytes);
    return "queued";
  }
  /** Returns the next entry without removing it. */
  peek() {
    const { states, event } = __privateGet(this, _segments)[__privateGet(this, _first)];
    for (const [key, value] of states) return { kind: "state", key, value };
    return event && { kind: "event", value: event.value };
  }
  /**
   * Returns the next entry, but skips states that should wait. If the event after them is next,
   * these states are returned, too.
   */
  peekUnless(waits) {
    const { states, event } = __privateGet(this, _segments)[__privateGet(this, _first)];
    for (const [key, value] of states) if (!waits(key)) return { kind: "state", key, value };
    return states.size === 0 || event ? this.peek() : void 0;
  }
  /** Removes and returns the state of a key, if it is before the next event. */
  takeState(key) {
    const { states } = __privateGet(this, _segments)[__privateGet(this, _first)];
    const value = states.get(key);
    if (value === void 0) return void 0;
    states.delete(key);
    __privateSet(this, _entries, __privateGet(this, _entries) - 1);
    __privateSet(this, _bytes, __privateGet(this, _bytes) - this.bytesOf(value));
    return value;
  }
  /** Removes and returns the next entry. */
  pop() {
    const next = this.peek();
    if (next === void 0) return void 0;
    __privateSet(this, _entries, __privateGet(this, _entries) - 1);
    __privateSet(this, _bytes, __privateGet(this, _bytes) - this.bytesOf(next.value));
    if (next.kind === "state") __privateGet(this, _segments)[__privateGet(this, _first)].states.delete(next.key);
    else __privateMethod(this, _UpdatableQueue_instances, leaveSegment_fn).call(this);
    return next;
  }
  /** Returns the state of a key without removing it, if it is before the next event. */
  peekState(key) {
    const value = __privateGet(this, _segments)[__privateGet(this, _first)].states.get(key);
    return value === void 0 ? void 0 : { kind: "state", key, value };
  }
  /** The keys of the states before the next event, in their order. */
  firstKeys() {
    return __privateGet(this, _segments)[__privateGet(this, _first)].states.keys();
  }
  /**
   * Removes the event for which `matches` is true, if it still waits. The states before and after
   * the event then form one segment.
   */
  removeEvent(matches) {
    for (let index = __privateGet(this, _first); index < __privateGet(this, _segments).length - 1; index++) {
      const segment = __privateGet(this, _segments)[index];
      const { value } = segment.event;
      if (!matches(value)) continue;
      const after = __privateGet(this, _segments)[index + 1];
      for (const [key, newer] of after.states) {
        const older = segment.states.get(key);
        if (older !== void 0) {
          __privateSet(this, _entries, __privateGet(this, _entries) - 1);
          __privateSet(this, _bytes, __privateGet(this, _bytes) - this.bytesOf(older));
          this.superseded += 1;
        }
        segment.states.set(key, newer);
      }
      segment.event = after.event;
      __privateGet(this, _segments).splice(index + 1, 1);
      __privateSet(this, _entries, __privateGet(this, _entries) - 1);
      __privateSet(this, _bytes, __privateGet(this, _bytes) - this.bytesOf(value));
      return value;
    }
    return void 0;
  }
}
_segments = new WeakMap();
_first = new WeakMap();
_entries = new WeakMap();
_bytes = new WeakMap();
_UpdatableQueue_instances = new WeakSet();
leaveSegment_fn = function() {
  __privateSet(this, _first, __privateGet(this, _first) + 1);
  if (__privateGet(this, _first) >= 64 && __privateGet(this, _first) * 2 > __privateGet(this, _segments).length) {
    __privateGet(this, _segments).splice(0, __privateGet(this, _first));
    __privateSet(this, _first, 0);
  }
};
export {
  UpdatableQueue as U
};
