import { resolveComponent, withCtx, createVNode, useSSRContext } from "vue";
import { ssrRenderAttrs, ssrRenderComponent } from "vue/server-renderer";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Playable lab","description":"","frontmatter":{},"headers":[],"relativePath":"lab.md","filePath":"lab.md"}');
const _sfc_main = { name: "lab.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  const _component_ClientOnly = resolveComponent("ClientOnly");
  const _component_LinkLab = resolveComponent("LinkLab");
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="playable-lab" tabindex="-1">Playable lab <a class="header-anchor" href="#playable-lab" aria-label="Permalink to &quot;Playable lab&quot;">​</a></h1><p>Three programs send the same data over the same link: states at 60 Hz and ten events a second. Move the sliders, and watch the age of the data that each receiver shows. The ring marks the true place, and the coloured dot the shown place.</p>`);
  _push(ssrRenderComponent(_component_ClientOnly, null, {
    default: withCtx((_, _push2, _parent2, _scopeId) => {
      if (_push2) {
        _push2(ssrRenderComponent(_component_LinkLab, null, null, _parent2, _scopeId));
      } else {
        return [
          createVNode(_component_LinkLab)
        ];
      }
    }),
    _: 1
  }, _parent));
  _push(`<h2 id="experiments" tabindex="-1">Experiments <a class="header-anchor" href="#experiments" aria-label="Permalink to &quot;Experiments&quot;">​</a></h2><ol><li><strong>5 % lost.</strong> One lost TCP segment delays all later ones, so the histogram has a second hill. UDP loses one event in twenty. The queue loses none.</li><li><strong>Narrow link.</strong> The load exceeds the link. TCP&#39;s backlog grows without limit, and UDP fills the router&#39;s queue. The updatable queue replaces states that have not left, so its age stays low.</li><li><strong>Events that wait.</strong> Switch on &quot;Events of the queue wait for the states before them&quot;.</li><li><strong>TCP at its best.</strong> Switch on &quot;TCP knows the capacity and ignores losses&quot;. The remaining age comes from delivery in order alone.</li><li><strong>A careful program over TCP.</strong> Choose &quot;Narrow link&quot;, and switch on &quot;TCP&#39;s program replaces values that it has not written&quot;. Values still wait in the congestion window and the router. With both TCP switches, TCP comes close on this link, but not on a link with losses.</li></ol><h2 id="the-model" tabindex="-1">The model <a class="header-anchor" href="#the-model" aria-label="Permalink to &quot;The model&quot;">​</a></h2><p>The page computes packets in virtual time, with one clock for both ends, so ages are exact.</p><table tabindex="0"><thead><tr><th>part</th><th>model</th></tr></thead><tbody><tr><td>link</td><td>a narrow hop behind a queue of 64 KiB in each direction, half the round trip, an ordered random delay, independent losses. Each program has its own link with the same random numbers</td></tr><tr><td>TCP</td><td>one open connection, segments of 1,448 bytes, immediate selective acknowledgements, RACK with a tail probe, a time-out of at least 200 ms that doubles, CUBIC from ten segments. With the switch, the window is the capacity times the round trip</td></tr><tr><td>TCP&#39;s program</td><td>writes each value at once, or with the switch only while no byte waits</td></tr><tr><td>UDP, newest</td><td>datagrams of at most 1,200 bytes, without congestion control; the receiver ignores old values</td></tr><tr><td>updatable queue</td><td>two sessions of the TypeScript SDK over datagrams: the code that runs in browsers</td></tr></tbody></table><p>States and events have 64 bytes and 6 bytes of framing, plus 52 bytes of headers for TCP and 60 for UDP with encryption. Histograms cover the last 5 s, and a bar&#39;s height is the square root of its share. The model is simpler than a kernel: <a href="/measurements/">Measurements</a> has real ones. The code is in <code>packages/site/src/lab</code>.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("lab.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const lab = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  lab as default
};
