import { resolveComponent, withCtx, createVNode, useSSRContext } from "vue";
import { ssrRenderAttrs, ssrRenderComponent } from "vue/server-renderer";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"The updatable queue","description":"","frontmatter":{},"headers":[],"relativePath":"concepts/updatable-queue.md","filePath":"concepts/updatable-queue.md"}');
const _sfc_main = { name: "concepts/updatable-queue.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  const _component_ClientOnly = resolveComponent("ClientOnly");
  const _component_QueueAnimation = resolveComponent("QueueAnimation");
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="the-updatable-queue" tabindex="-1">The updatable queue <a class="header-anchor" href="#the-updatable-queue" aria-label="Permalink to &quot;The updatable queue&quot;">​</a></h1><p>When your programs share a world, they send two kinds of data:</p><ul><li>A <strong>state</strong> is a current value, such as an object&#39;s pose. An old value is worthless when a newer one exists.</li><li>An <strong>event</strong> is something that happened, such as a kick. Each event must arrive, once, and in order.</li></ul><p>A plain queue treats both as events: if the receiver is slower than the sender, the queue grows, and you see the past. A mailbox that keeps only the newest message loses events. The updatable queue has one rule for each:</p><ul><li>A new state <strong>replaces</strong> the waiting state of its key, in the same place.</li><li>An event is never replaced, and is a <strong>barrier</strong>: a state that was put after the event arrives after the event.</li></ul><h2 id="try-it" tabindex="-1">Try it <a class="header-anchor" href="#try-it" aria-label="Permalink to &quot;Try it&quot;">​</a></h2><p>The sender below puts a message every 450 ms, and the receiver takes one every 900 ms. In the lower row you see the SDK&#39;s <code>UpdatableQueue</code>, running in this page.</p>`);
  _push(ssrRenderComponent(_component_ClientOnly, null, {
    default: withCtx((_, _push2, _parent2, _scopeId) => {
      if (_push2) {
        _push2(ssrRenderComponent(_component_QueueAnimation, null, null, _parent2, _scopeId));
      } else {
        return [
          createVNode(_component_QueueAnimation)
        ];
      }
    }),
    _: 1
  }, _parent));
  _push(`<p>The plain queue fills up, and the receiver gets values that are several seconds old. The updatable queue holds at most one value per key between two events, so the delay does not grow. A replaced state stays in place, so no key waits longer because another key changes often.</p><h2 id="the-laws" tabindex="-1">The laws <a class="header-anchor" href="#the-laws" aria-label="Permalink to &quot;The laws&quot;">​</a></h2><p>One test suite checks <a href="/spec/queue.html">seven laws</a>, in one process, through shared memory and over networks:</p><ol><li>Each event is delivered exactly once, in order.</li><li>Before an event, you receive the last value of every key that was put before the event.</li><li>A state put after an event is not delivered before the event.</li><li>Values of a key never go backwards. When the sender stops, the last value of every key arrives.</li><li>A replaced entry stays in place.</li><li>A queue has a bound in entries and in bytes.</li><li>After a stall, the receiver gets at most one value per key and barrier interval.</li></ol><h2 id="over-a-network" tabindex="-1">Over a network <a class="header-anchor" href="#over-a-network" aria-label="Permalink to &quot;Over a network&quot;">​</a></h2><p>The sender reads a value from the queue only when a packet leaves, so every packet has the newest values. A lost event is sent again. A lost state is sent again only if no newer value exists. TCP takes a value when the program writes, and also sends outdated values: <a href="/lab.html">the lab</a> shows the difference.</p><p>Lanes are parallel queues. Events in one lane do not wait for states in another.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("concepts/updatable-queue.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const updatableQueue = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  updatableQueue as default
};
