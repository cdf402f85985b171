import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Age","description":"","frontmatter":{},"headers":[],"relativePath":"concepts/age.md","filePath":"concepts/age.md"}');
const _sfc_main = { name: "concepts/age.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="age" tabindex="-1">Age <a class="header-anchor" href="#age" aria-label="Permalink to &quot;Age&quot;">​</a></h1><p>The <strong>age</strong> of a value that you see is the time since its sender put the value. Latency is the time of one message; age also grows while nothing arrives. If your page shows a pose that was put 80 ms ago, the age is 80 ms, however quickly the last packet came.</p><p>Your players see age: a page draws a ball with an age of 300 ms at the place of 300 ms ago.</p><h2 id="parts" tabindex="-1">Parts <a class="header-anchor" href="#parts" aria-label="Permalink to &quot;Parts&quot;">​</a></h2><table tabindex="0"><thead><tr><th>part</th><th>cause</th><th>smaller by</th></tr></thead><tbody><tr><td>half a round trip</td><td>distance</td><td>a nearer server</td></tr><tr><td>waiting at the sender</td><td>the link or the congestion window is full</td><td>fewer bytes; states that replace each other</td></tr><tr><td>waiting in a router</td><td>a queue before a narrow hop</td><td>a sender that keeps the queue short</td></tr><tr><td>waiting behind a lost packet</td><td>delivery in order (TCP, WebSocket)</td><td>WebTransport: datagrams, in which no state waits for another</td></tr><tr><td>time until the next put</td><td>the rate of the sender</td><td>a higher rate, at the cost of bytes</td></tr><tr><td>interpolation</td><td>the page shows entities a moment late, so that movement is smooth</td><td>a steady link; see <a href="/concepts/prediction.html">prediction</a> for the local avatar</td></tr></tbody></table><h2 id="read-it" tabindex="-1">Read it <a class="header-anchor" href="#read-it" aria-label="Permalink to &quot;Read it&quot;">​</a></h2><ul><li><code>message.ageMs</code> in TypeScript, <code>message.age()</code> in Rust. Both sides estimate their clock offset from round trips.</li><li><code>channel.status</code> has the newest states&#39; mean age on arrival.</li><li><code>interpolator.ageMs(id)</code>: a displayed entity&#39;s age.</li><li><code>nowcast watch NAME</code> prints a service&#39;s ages, and <code>nowcast top</code> those of a server&#39;s rooms (<code>nowcast_room_age_seconds_max</code>).</li><li>At every server&#39;s <code>/lab</code> you measure your browser&#39;s own connection.</li></ul><p>Means hide the pauses that people notice. The measurements therefore state the 99th percentile: one value in a hundred is older.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("concepts/age.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const age = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  age as default
};
