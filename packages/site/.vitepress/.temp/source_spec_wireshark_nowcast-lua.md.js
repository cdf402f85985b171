import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"spec/wireshark/nowcast.lua","description":"","frontmatter":{},"headers":[],"relativePath":"source/spec/wireshark/nowcast-lua.md","filePath":"source/spec/wireshark/nowcast-lua.md"}');
const _sfc_main = { name: "source/spec/wireshark/nowcast-lua.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="specwiresharknowcastlua" tabindex="-1">spec/wireshark/nowcast.lua <a class="header-anchor" href="#specwiresharknowcastlua" aria-label="Permalink to &quot;spec/wireshark/nowcast.lua&quot;">​</a></h1><div class="language-text vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">text</span><pre class="shiki shiki-themes github-light github-dark vp-code" tabindex="0"><code><span class="line"><span>-- Dissects the packets of Nowcast sessions (spec/SESSION.md) in Wireshark and tshark, from version 4.0 on.</span></span>
<span class="line"><span>--</span></span>
<span class="line"><span>-- Packets are found in WebSocket connections with the subprotocol nowcast.1, and in the QUIC datagrams of WebTransport</span></span>
<span class="line"><span>-- sessions. QUIC is encrypted: Wireshark needs the file that the program wrote to SSLKEYLOGFILE (docs/how-to/wireshark.md).</span></span>
<span class="line"><span></span></span>
<span class="line"><span>local LEAST_HELLO_BYTES = 160</span></span>
<span class="line"><span>local PART_BYTES = 1024</span></span>
<span class="line"><span>local FURTHER_RANGES_MAX = 31</span></span>
<span class="line"><span>local REFUSE_TEXT_BYTES_MAX = 64</span></span>
<span class="line"><span>local REASON_BYTES_MAX = 128</span></span>
<span class="line"><span>local STAMP_END = UInt64(0, 1):lshift(30) -- 2^62</span></span>
<span class="line"><span>local TIME_UNIT_MICROS = 16</span></span>
<span class="line"><span></span></span>
<span class="line"><span>local nowcast = Proto(&quot;nowcast&quot;, &quot;Nowcast session&quot;)</span></span>
<span class="line"><span></span></span>
<span class="line"><span>local CLOSE_CODES = {</span></span>
<span class="line"><span>  [0] = &quot;done&quot;, [1] = &quot;malformed&quot;, [2] = &quot;limit_exceeded&quot;, [3] = &quot;violation&quot;, [4] = &quot;gave_up&quot;, [5] = &quot;version&quot;,</span></span>
<span class="line"><span>  [6] = &quot;unknown_session&quot;, [7] = &quot;wrong_token&quot;, [8] = &quot;busy&quot;, [9] = &quot;unauthorised&quot;, [10] = &quot;going_away&quot;, [11] = &quot;behind&quot;,</span></span>
<span class="line"><span>}</span></span>
<span class="line"><span>local EVENT_KINDS = { [0] = &quot;event&quot;, [1] = &quot;command&quot;, [2] = &quot;reply&quot;, [3] = &quot;barrier&quot;, [4] = &quot;expired&quot; }</span></span>
<span class="line"><span>local PACKET_TYPES = { [0x80] = &quot;HELLO&quot;, [0x81] = &quot;WELCOME&quot;, [0x82] = &quot;REFUSE&quot; }</span></span>
<span class="line"><span>-- The names of frames without a lane, and of frames with one by their high four bits.</span></span>
<span class="line"><span>local FRAMES = { [0x00] = &quot;PADDING&quot;, [0x01] = &quot;PING&quot;, [0x02] = &quot;PROOF&quot;, [0x03] = &quot;CLOSE&quot; }</span></span>
<span class="line"><span>local LANE_FRAMES = { &quot;STATES&quot;, &quot;EVENT&quot;, &quot;EVENT_PART&quot;, &quot;STATE_PART&quot;, &quot;WINDOW&quot;, &quot;REPLICATION&quot; }</span></span>
<span class="line"><span></span></span>
<span class="line"><span>local field = {</span></span>
<span class="line"><span>  type = ProtoField.uint8(&quot;nowcast.type&quot;, &quot;Packet type&quot;, base.HEX, PACKET_TYPES),</span></span>
<span class="line"><span>  magic = ProtoField.string(&quot;nowcast.magic&quot;, &quot;Magic&quot;),</span></span>
<span class="line"><span>  version = ProtoField.uint64(&quot;nowcast.version&quot;, &quot;Version&quot;),</span></span>
<span class="line"><span>  version_min = ProtoField.uint64(&quot;nowcast.version_min&quot;, &quot;Lowest version&quot;),</span></span>
<span class="line"><span>  version_max = ProtoField.uint64(&quot;nowcast.version_max&quot;, &quot;Highest version&quot;),</span></span>
<span class="line"><span>  nonce = ProtoField.bytes(&quot;nowcast.nonce&quot;, &quot;Nonce&quot;),</span></span>
<span class="line"><span>  proof = ProtoField.bytes(&quot;nowcast.proof&quot;, &quot;Proof&quot;),</span></span>
<span class="line"><span>  clock = ProtoField.uint64(&quot;nowcast.clock&quot;, &quot;Clock, µs&quot;),</span></span>
<span class="line"><span>  hello_clock = ProtoField.uint64(&quot;nowcast.hello_clock&quot;, &quot;Clock of the HELLO, µs&quot;),</span></span>
<span class="line"><span>  lanes_max = ProtoField.uint64(&quot;nowcast.limits.lanes_max&quot;, &quot;Maximum number of lanes&quot;),</span></span>
<span class="line"><span>  window_bytes = ProtoField.uint64(&quot;nowcast.limits.window_bytes&quot;, &quot;Window, bytes&quot;),</span></span>
<span class="line"><span>  message_bytes_max = ProtoField.uint64(&quot;nowcast.limits.message_bytes_max&quot;, &quot;Maximum message, bytes&quot;),</span></span>
<span class="line"><span>  packet_bytes_max = ProtoField.uint64(&quot;nowcast.limits.packet_bytes_max&quot;, &quot;Maximum packet, bytes&quot;),</span></span>
<span class="line"><span>  idle_timeout_ms = ProtoField.uint64(&quot;nowcast.limits.idle_timeout_ms&quot;, &quot;Idle time-out, ms&quot;),</span></span>
<span class="line"><span>  resume_timeout_ms = ProtoField.uint64(&quot;nowcast.limits.resume_timeout_ms&quot;, &quot;Resume time-out, ms&quot;),</span></span>
<span class="line"><span>  resume = ProtoField.uint8(&quot;nowcast.resume&quot;, &quot;Resumes a session&quot;),</span></span>
<span class="line"><span>  session = ProtoField.bytes(&quot;nowcast.session&quot;, &quot;Session&quot;),</span></span>
<span class="line"><span>  token = ProtoField.bytes(&quot;nowcast.token&quot;, &quot;Token&quot;),</span></span>
<span class="line"><span>  epoch = ProtoField.uint64(&quot;nowcast.epoch&quot;, &quot;Epoch&quot;),</span></span>
<span class="line"><span>  padding = ProtoField.uint32(&quot;nowcast.padding&quot;, &quot;Padding, bytes&quot;),</span></span>
<span class="line"><span>  code = ProtoField.uint32(&quot;nowcast.code&quot;, &quot;Code&quot;, base.DEC, CLOSE_CODES),</span></span>
<span class="line"><span>  text = ProtoField.string(&quot;nowcast.text&quot;, &quot;Text&quot;),</span></span>
<span class="line"><span>  flags = ProtoField.uint8(&quot;nowcast.flags&quot;, &quot;Flags&quot;, base.HEX),</span></span>
<span class="line"><span>  number = ProtoField.uint16(&quot;nowcast.number&quot;, &quot;Packet number modulo 65,536&quot;),</span></span>
<span class="line"><span>  time = ProtoField.uint32(&quot;nowcast.time&quot;, &quot;Time of departure, 16 µs&quot;),</span></span>
<span class="line"><span>  ack_largest = ProtoField.uint16(&quot;nowcast.ack.largest&quot;, &quot;Largest acknowledged number modulo 65,536&quot;),</span></span>
<span class="line"><span>  ack_delay = ProtoField.uint64(&quot;nowcast.ack.delay&quot;, &quot;Delay of the acknowledgement, 16 µs&quot;),</span></span>
<span class="line"><span>  ack_first = ProtoField.uint64(&quot;nowcast.ack.first&quot;, &quot;Numbers directly below&quot;),</span></span>
<span class="line"><span>  ack_count = ProtoField.uint64(&quot;nowcast.ack.count&quot;, &quot;Further ranges&quot;),</span></span>
<span class="line"><span>  ack_gap = ProtoField.uint64(&quot;nowcast.ack.gap&quot;, &quot;Gap, less 1&quot;),</span></span>
<span class="line"><span>  ack_length = ProtoField.uint64(&quot;nowcast.ack.length&quot;, &quot;Length, less 1&quot;),</span></span>
<span class="line"><span>  frame = ProtoField.string(&quot;nowcast.frame&quot;, &quot;Frame&quot;),</span></span>
<span class="line"><span>  lane = ProtoField.uint8(&quot;nowcast.lane&quot;, &quot;Lane&quot;),</span></span>
<span class="line"><span>  interval = ProtoField.uint64(&quot;nowcast.interval&quot;, &quot;Interval&quot;),</span></span>
<span class="line"><span>  stamp = ProtoField.uint64(&quot;nowcast.stamp&quot;, &quot;Stamp&quot;),</span></span>
<span class="line"><span>  key = ProtoField.uint64(&quot;nowcast.key&quot;, &quot;Key&quot;),</span></span>
<span class="line"><span>  offset = ProtoField.uint64(&quot;nowcast.offset&quot;, &quot;Offset of the stamp&quot;),</span></span>
<span class="line"><span>  age = ProtoField.uint64(&quot;nowcast.age&quot;, &quot;Age, ms&quot;),</span></span>
<span class="line"><span>  value = ProtoField.bytes(&quot;nowcast.value&quot;, &quot;Value&quot;),</span></span>
<span class="line"><span>  event = ProtoField.uint64(&quot;nowcast.event&quot;, &quot;Event number&quot;),</span></span>
<span class="line"><span>  kind = ProtoField.uint8(&quot;nowcast.kind&quot;, &quot;Kind&quot;, base.DEC, EVENT_KINDS),</span></span>
<span class="line"><span>  before = ProtoField.uint64(&quot;nowcast.before&quot;, &quot;Sum of the stamps before&quot;),</span></span>
<span class="line"><span>  answers = ProtoField.uint64(&quot;nowcast.answers&quot;, &quot;Number of the answered command&quot;),</span></span>
<span class="line"><span>  payload = ProtoField.bytes(&quot;nowcast.payload&quot;, &quot;Payload&quot;),</span></span>
<span class="line"><span>  total = ProtoField.uint32(&quot;nowcast.total&quot;, &quot;Total length, bytes&quot;),</span></span>
<span class="line"><span>  index = ProtoField.uint32(&quot;nowcast.index&quot;, &quot;Index of the part&quot;),</span></span>
<span class="line"><span>  part = ProtoField.bytes(&quot;nowcast.part&quot;, &quot;Part&quot;),</span></span>
<span class="line"><span>  consumed = ProtoField.uint64(&quot;nowcast.consumed&quot;, &quot;Events consumed&quot;),</span></span>
<span class="line"><span>}</span></span>
<span class="line"><span>local malformed_field = ProtoField.string(&quot;nowcast.malformed&quot;, &quot;Malformed field&quot;)</span></span>
<span class="line"><span>local malformed = ProtoExpert.new(&quot;nowcast.malformed_packet&quot;, &quot;Malformed packet&quot;, expert.group.MALFORMED, expert.severity.ERROR)</span></span>
<span class="line"><span>nowcast.fields = { malformed_field }</span></span>
<span class="line"><span>for _, each in pairs(field) do</span></span>
<span class="line"><span>  table.insert(nowcast.fields, each)</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span>nowcast.experts = { malformed }</span></span>
<span class="line"><span></span></span>
<span class="line"><span>-- Ends the dissection of a packet. \`name\` is the field that cannot be read, by its name in the vectors of the session.</span></span>
<span class="line"><span>local function refuse(name)</span></span>
<span class="line"><span>  error({ malformed = name }, 0)</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>local function check(condition, name)</span></span>
<span class="line"><span>  if not condition then</span></span>
<span class="line"><span>    refuse(name)</span></span>
<span class="line"><span>  end</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>local function is_utf8(bytes)</span></span>
<span class="line"><span>  local at = 0</span></span>
<span class="line"><span>  while at &lt; bytes:len() do</span></span>
<span class="line"><span>    local first = bytes:get_index(at)</span></span>
<span class="line"><span>    local more, least = 0, 0</span></span>
<span class="line"><span>    if first &gt;= 0xF0 and first &lt;= 0xF4 then</span></span>
<span class="line"><span>      more, least = 3, 0x10000</span></span>
<span class="line"><span>    elseif first &gt;= 0xE0 and first &lt; 0xF0 then</span></span>
<span class="line"><span>      more, least = 2, 0x800</span></span>
<span class="line"><span>    elseif first &gt;= 0xC2 and first &lt; 0xE0 then</span></span>
<span class="line"><span>      more, least = 1, 0x80</span></span>
<span class="line"><span>    elseif first &gt;= 0x80 then</span></span>
<span class="line"><span>      return false</span></span>
<span class="line"><span>    end</span></span>
<span class="line"><span>    local point = more == 0 and first or first % 2 ^ (6 - more)</span></span>
<span class="line"><span>    for step = 1, more do</span></span>
<span class="line"><span>      if at + step &gt;= bytes:len() or math.floor(bytes:get_index(at + step) / 64) ~= 2 then</span></span>
<span class="line"><span>        return false</span></span>
<span class="line"><span>      end</span></span>
<span class="line"><span>      point = point * 64 + bytes:get_index(at + step) % 64</span></span>
<span class="line"><span>    end</span></span>
<span class="line"><span>    if point &lt; least or point &gt; 0x10FFFF or (point &gt;= 0xD800 and point &lt;= 0xDFFF) then</span></span>
<span class="line"><span>      return false</span></span>
<span class="line"><span>    end</span></span>
<span class="line"><span>    at = at + 1 + more</span></span>
<span class="line"><span>  end</span></span>
<span class="line"><span>  return true</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>-- Reads fields from \`range\` in their order, and adds each to a tree.</span></span>
<span class="line"><span>local Reader = {}</span></span>
<span class="line"><span>Reader.__index = Reader</span></span>
<span class="line"><span></span></span>
<span class="line"><span>local function reader(range)</span></span>
<span class="line"><span>  return setmetatable({ range = range, at = 0 }, Reader)</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>function Reader:left()</span></span>
<span class="line"><span>  return self.range:len() - self.at</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>function Reader:take(length, name)</span></span>
<span class="line"><span>  check(length &lt;= self:left(), name)</span></span>
<span class="line"><span>  -- A range of no bytes cannot be made, so an empty field is shown at the byte before it.</span></span>
<span class="line"><span>  local taken = length &gt; 0 and self.range:range(self.at, length) or nil</span></span>
<span class="line"><span>  self.at = self.at + length</span></span>
<span class="line"><span>  return taken</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>-- Fixed sizes, little-endian.</span></span>
<span class="line"><span>function Reader:fixed(length, name, tree, of)</span></span>
<span class="line"><span>  local taken = self:take(length, name)</span></span>
<span class="line"><span>  if length &gt; 4 then</span></span>
<span class="line"><span>    local value = taken:le_uint64()</span></span>
<span class="line"><span>    tree:add_le(of, taken)</span></span>
<span class="line"><span>    return value</span></span>
<span class="line"><span>  end</span></span>
<span class="line"><span>  tree:add_le(of, taken)</span></span>
<span class="line"><span>  return taken:le_uint()</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>function Reader:raw(length, name, tree, of)</span></span>
<span class="line"><span>  local taken = self:take(length, name)</span></span>
<span class="line"><span>  tree:add(of, taken)</span></span>
<span class="line"><span>  return taken</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>-- An unsigned LEB128 number in its shortest form, below 2^64.</span></span>
<span class="line"><span>function Reader:varint(name, tree, of)</span></span>
<span class="line"><span>  local start, value, shift = self.at, UInt64(0), 0</span></span>
<span class="line"><span>  while true do</span></span>
<span class="line"><span>    local byte = self:take(1, name):uint()</span></span>
<span class="line"><span>    check(shift &lt; 63 or byte &lt;= 1, name)</span></span>
<span class="line"><span>    value = value:bor(UInt64(byte % 128):lshift(shift))</span></span>
<span class="line"><span>    shift = shift + 7</span></span>
<span class="line"><span>    if byte &lt; 128 then</span></span>
<span class="line"><span>      check(byte &gt; 0 or shift == 7, name)</span></span>
<span class="line"><span>      break</span></span>
<span class="line"><span>    end</span></span>
<span class="line"><span>  end</span></span>
<span class="line"><span>  if tree then</span></span>
<span class="line"><span>    tree:add(of, self.range:range(start, self.at - start), value)</span></span>
<span class="line"><span>  end</span></span>
<span class="line"><span>  return value</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>-- A varint below 2^32.</span></span>
<span class="line"><span>function Reader:small(name, tree, of)</span></span>
<span class="line"><span>  local start = self.at</span></span>
<span class="line"><span>  local value = self:varint(name)</span></span>
<span class="line"><span>  check(value &lt; UInt64(0, 1), name)</span></span>
<span class="line"><span>  tree:add(of, self.range:range(start, self.at - start), value:tonumber())</span></span>
<span class="line"><span>  return value:tonumber()</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>-- A length and that number of bytes. Returns the range, or nil if there are no bytes.</span></span>
<span class="line"><span>function Reader:bytes(name, tree, of)</span></span>
<span class="line"><span>  local start = self.at</span></span>
<span class="line"><span>  local length = self:varint(name)</span></span>
<span class="line"><span>  check(length &lt;= UInt64(self:left()), name)</span></span>
<span class="line"><span>  local taken = self:take(length:tonumber(), name)</span></span>
<span class="line"><span>  if taken then</span></span>
<span class="line"><span>    tree:add(of, taken)</span></span>
<span class="line"><span>  else</span></span>
<span class="line"><span>    tree:add(of, self.range:range(start, self.at - start), &quot;&quot;):append_text(&quot;(empty)&quot;)</span></span>
<span class="line"><span>  end</span></span>
<span class="line"><span>  return taken</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>function Reader:text(bytes_max, name, tree, of)</span></span>
<span class="line"><span>  local start = self.at</span></span>
<span class="line"><span>  local length = self:varint(name)</span></span>
<span class="line"><span>  check(length &lt;= UInt64(bytes_max) and length &lt;= UInt64(self:left()), name)</span></span>
<span class="line"><span>  local taken = self:take(length:tonumber(), name)</span></span>
<span class="line"><span>  if not taken then</span></span>
<span class="line"><span>    tree:add(of, self.range:range(start, self.at - start), &quot;&quot;)</span></span>
<span class="line"><span>    return &quot;&quot;</span></span>
<span class="line"><span>  end</span></span>
<span class="line"><span>  check(is_utf8(taken:bytes()), name)</span></span>
<span class="line"><span>  tree:add(of, taken, taken:string(ENC_UTF_8))</span></span>
<span class="line"><span>  return taken:string(ENC_UTF_8)</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>local function limits(from, tree)</span></span>
<span class="line"><span>  local branch = tree:add(nowcast, from.range:range(from.at), &quot;Limits&quot;)</span></span>
<span class="line"><span>  local least = {</span></span>
<span class="line"><span>    { &quot;lanes_max&quot;, 1 }, { &quot;window_bytes&quot;, 16384 }, { &quot;message_bytes_max&quot;, 1024 }, { &quot;packet_bytes_max&quot;, 1200 },</span></span>
<span class="line"><span>    { &quot;idle_timeout_ms&quot;, 100 }, { &quot;resume_timeout_ms&quot;, 0 },</span></span>
<span class="line"><span>  }</span></span>
<span class="line"><span>  local window</span></span>
<span class="line"><span>  for _, limit in ipairs(least) do</span></span>
<span class="line"><span>    local name = limit[1]</span></span>
<span class="line"><span>    local value = from:varint(name, branch, field[name])</span></span>
<span class="line"><span>    check(value &gt;= UInt64(limit[2]), name)</span></span>
<span class="line"><span>    check(name ~= &quot;lanes_max&quot; or value &lt;= UInt64(16), name)</span></span>
<span class="line"><span>    window = name == &quot;window_bytes&quot; and value or window</span></span>
<span class="line"><span>    check(name ~= &quot;message_bytes_max&quot; or value &lt;= window / UInt64(4), name)</span></span>
<span class="line"><span>  end</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>local function identity(from, tree)</span></span>
<span class="line"><span>  from:raw(8, &quot;session&quot;, tree, field.session)</span></span>
<span class="line"><span>  from:raw(16, &quot;token&quot;, tree, field.token)</span></span>
<span class="line"><span>  from:varint(&quot;epoch&quot;, tree, field.epoch)</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>local function versions(from, tree)</span></span>
<span class="line"><span>  local lowest = from:varint(&quot;version_min&quot;, tree, field.version_min)</span></span>
<span class="line"><span>  local highest = from:varint(&quot;version_max&quot;, tree, field.version_max)</span></span>
<span class="line"><span>  check(lowest &lt;= highest, &quot;version_max&quot;)</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>local handshake = {}</span></span>
<span class="line"><span></span></span>
<span class="line"><span>handshake[0x80] = function(from, tree)</span></span>
<span class="line"><span>  local magic = from:take(4, &quot;magic&quot;)</span></span>
<span class="line"><span>  tree:add(field.magic, magic)</span></span>
<span class="line"><span>  check(magic:string() == &quot;NOWC&quot;, &quot;magic&quot;)</span></span>
<span class="line"><span>  versions(from, tree)</span></span>
<span class="line"><span>  from:raw(8, &quot;nonce&quot;, tree, field.nonce)</span></span>
<span class="line"><span>  from:fixed(8, &quot;clock&quot;, tree, field.clock)</span></span>
<span class="line"><span>  limits(from, tree)</span></span>
<span class="line"><span>  local resume = from:fixed(1, &quot;resume&quot;, tree, field.resume)</span></span>
<span class="line"><span>  check(resume &lt;= 1, &quot;resume&quot;)</span></span>
<span class="line"><span>  if resume == 1 then</span></span>
<span class="line"><span>    identity(from, tree)</span></span>
<span class="line"><span>  end</span></span>
<span class="line"><span>  local padding = from:take(from:left(), &quot;padding&quot;)</span></span>
<span class="line"><span>  check(from.range:len() &gt;= LEAST_HELLO_BYTES, &quot;padding&quot;)</span></span>
<span class="line"><span>  if padding then</span></span>
<span class="line"><span>    tree:add(field.padding, padding, padding:len())</span></span>
<span class="line"><span>    check(padding:bytes():tohex():find(&quot;[^0]&quot;) == nil, &quot;padding&quot;)</span></span>
<span class="line"><span>  end</span></span>
<span class="line"><span>  return resume == 1 and &quot;resumes a session&quot; or &quot;new session&quot;</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>handshake[0x81] = function(from, tree)</span></span>
<span class="line"><span>  from:varint(&quot;version&quot;, tree, field.version)</span></span>
<span class="line"><span>  from:raw(8, &quot;nonce&quot;, tree, field.nonce)</span></span>
<span class="line"><span>  from:raw(8, &quot;proof&quot;, tree, field.proof)</span></span>
<span class="line"><span>  identity(from, tree)</span></span>
<span class="line"><span>  from:fixed(8, &quot;hello_clock&quot;, tree, field.hello_clock)</span></span>
<span class="line"><span>  from:fixed(8, &quot;clock&quot;, tree, field.clock)</span></span>
<span class="line"><span>  limits(from, tree)</span></span>
<span class="line"><span>  check(from:left() == 0, &quot;end&quot;)</span></span>
<span class="line"><span>  return &quot;&quot;</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>handshake[0x82] = function(from, tree)</span></span>
<span class="line"><span>  from:raw(8, &quot;nonce&quot;, tree, field.nonce)</span></span>
<span class="line"><span>  local code = from:small(&quot;code&quot;, tree, field.code)</span></span>
<span class="line"><span>  versions(from, tree)</span></span>
<span class="line"><span>  local text = from:text(REFUSE_TEXT_BYTES_MAX, &quot;text&quot;, tree, field.text)</span></span>
<span class="line"><span>  check(from:left() == 0, &quot;end&quot;)</span></span>
<span class="line"><span>  return (CLOSE_CODES[code] or code) .. &quot;, &quot; .. text</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>local function acknowledgement(from, tree, has_further)</span></span>
<span class="line"><span>  local branch = tree:add(nowcast, from.range:range(from.at), &quot;Acknowledgement&quot;)</span></span>
<span class="line"><span>  from:fixed(2, &quot;ack largest&quot;, branch, field.ack_largest)</span></span>
<span class="line"><span>  from:varint(&quot;ack delay&quot;, branch, field.ack_delay)</span></span>
<span class="line"><span>  from:varint(&quot;ack first&quot;, branch, field.ack_first)</span></span>
<span class="line"><span>  if not has_further then</span></span>
<span class="line"><span>    return</span></span>
<span class="line"><span>  end</span></span>
<span class="line"><span>  local count = from:varint(&quot;ack count&quot;, branch, field.ack_count)</span></span>
<span class="line"><span>  check(count &gt;= UInt64(1) and count &lt;= UInt64(FURTHER_RANGES_MAX), &quot;ack count&quot;)</span></span>
<span class="line"><span>  for _ = 1, count:tonumber() do</span></span>
<span class="line"><span>    from:varint(&quot;ack gap&quot;, branch, field.ack_gap)</span></span>
<span class="line"><span>    from:varint(&quot;ack length&quot;, branch, field.ack_length)</span></span>
<span class="line"><span>  end</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>local function event_head(from, branch)</span></span>
<span class="line"><span>  from:varint(&quot;number&quot;, branch, field.event)</span></span>
<span class="line"><span>  local kind = from:fixed(1, &quot;kind&quot;, branch, field.kind)</span></span>
<span class="line"><span>  check(EVENT_KINDS[kind] ~= nil, &quot;kind&quot;)</span></span>
<span class="line"><span>  from:varint(&quot;before&quot;, branch, field.before)</span></span>
<span class="line"><span>  if kind == 2 then</span></span>
<span class="line"><span>    from:varint(&quot;answers&quot;, branch, field.answers)</span></span>
<span class="line"><span>  end</span></span>
<span class="line"><span>  return kind</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>local function part(from, branch)</span></span>
<span class="line"><span>  local total = from:small(&quot;total&quot;, branch, field.total)</span></span>
<span class="line"><span>  check(total &gt; PART_BYTES, &quot;total&quot;)</span></span>
<span class="line"><span>  local index = from:small(&quot;index&quot;, branch, field.index)</span></span>
<span class="line"><span>  check(index &lt; math.ceil(total / PART_BYTES), &quot;index&quot;)</span></span>
<span class="line"><span>  local bytes = from:take(math.min(PART_BYTES, total - index * PART_BYTES), &quot;part&quot;)</span></span>
<span class="line"><span>  branch:add(field.part, bytes)</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>local frames = {}</span></span>
<span class="line"><span></span></span>
<span class="line"><span>function frames.PADDING() end</span></span>
<span class="line"><span>function frames.PING() end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>function frames.PROOF(from, branch)</span></span>
<span class="line"><span>  from:raw(8, &quot;proof&quot;, branch, field.proof)</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>function frames.CLOSE(from, branch)</span></span>
<span class="line"><span>  local code = from:small(&quot;code&quot;, branch, field.code)</span></span>
<span class="line"><span>  local reason = from:text(REASON_BYTES_MAX, &quot;reason&quot;, branch, field.text)</span></span>
<span class="line"><span>  return (CLOSE_CODES[code] or code) .. &quot; &quot; .. reason</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>function frames.STATES(from, branch)</span></span>
<span class="line"><span>  from:varint(&quot;interval&quot;, branch, field.interval)</span></span>
<span class="line"><span>  local stamp = from:varint(&quot;stamp&quot;, branch, field.stamp)</span></span>
<span class="line"><span>  local records = 0</span></span>
<span class="line"><span>  while from:left() &gt; 0 do</span></span>
<span class="line"><span>    local start = from.at</span></span>
<span class="line"><span>    local key = from:varint(&quot;key&quot;)</span></span>
<span class="line"><span>    if key == UInt64(0) then</span></span>
<span class="line"><span>      break</span></span>
<span class="line"><span>    end</span></span>
<span class="line"><span>    from.at = start</span></span>
<span class="line"><span>    local record = branch:add(nowcast, from.range:range(start), &quot;State&quot;)</span></span>
<span class="line"><span>    from:varint(&quot;key&quot;, record, field.key)</span></span>
<span class="line"><span>    local offset = from:varint(&quot;offset&quot;, record, field.offset)</span></span>
<span class="line"><span>    check(offset &lt; STAMP_END and stamp &lt; STAMP_END, &quot;offset&quot;)</span></span>
<span class="line"><span>    local own = stamp + offset</span></span>
<span class="line"><span>    check(own &gt; UInt64(0) and own &lt; STAMP_END, &quot;offset&quot;)</span></span>
<span class="line"><span>    from:varint(&quot;age&quot;, record, field.age)</span></span>
<span class="line"><span>    from:bytes(&quot;value&quot;, record, field.value)</span></span>
<span class="line"><span>    record:set_len(from.at - start)</span></span>
<span class="line"><span>    record:append_text(&quot; of key &quot; .. tostring(key) .. &quot;, stamp &quot; .. tostring(own))</span></span>
<span class="line"><span>    records = records + 1</span></span>
<span class="line"><span>  end</span></span>
<span class="line"><span>  check(records &gt; 0, &quot;records&quot;)</span></span>
<span class="line"><span>  return records .. (records == 1 and &quot; state&quot; or &quot; states&quot;)</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>function frames.EVENT(from, branch)</span></span>
<span class="line"><span>  local kind = event_head(from, branch)</span></span>
<span class="line"><span>  local payload = from:bytes(&quot;payload&quot;, branch, field.payload)</span></span>
<span class="line"><span>  check(kind &lt; 3 or payload == nil, &quot;payload&quot;)</span></span>
<span class="line"><span>  return EVENT_KINDS[kind]</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>function frames.EVENT_PART(from, branch)</span></span>
<span class="line"><span>  local kind = event_head(from, branch)</span></span>
<span class="line"><span>  check(kind &lt; 3, &quot;kind&quot;)</span></span>
<span class="line"><span>  part(from, branch)</span></span>
<span class="line"><span>  return EVENT_KINDS[kind]</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>function frames.STATE_PART(from, branch)</span></span>
<span class="line"><span>  from:varint(&quot;interval&quot;, branch, field.interval)</span></span>
<span class="line"><span>  local stamp = from:varint(&quot;stamp&quot;, branch, field.stamp)</span></span>
<span class="line"><span>  check(stamp &gt; UInt64(0) and stamp &lt; STAMP_END, &quot;stamp&quot;)</span></span>
<span class="line"><span>  check(from:varint(&quot;key&quot;, branch, field.key) &gt; UInt64(0), &quot;key&quot;)</span></span>
<span class="line"><span>  from:varint(&quot;age&quot;, branch, field.age)</span></span>
<span class="line"><span>  part(from, branch)</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>function frames.WINDOW(from, branch)</span></span>
<span class="line"><span>  from:varint(&quot;consumed&quot;, branch, field.consumed)</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>function frames.REPLICATION(from, branch)</span></span>
<span class="line"><span>  local payload = from:bytes(&quot;payload&quot;, branch, field.payload)</span></span>
<span class="line"><span>  return (payload and payload:len() or 0) .. &quot; bytes&quot;</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>local function data(from, tree)</span></span>
<span class="line"><span>  local flags = from:fixed(1, &quot;flags&quot;, tree, field.flags)</span></span>
<span class="line"><span>  check(flags &lt; 4 and flags ~= 2, &quot;flags&quot;)</span></span>
<span class="line"><span>  local number = from:fixed(2, &quot;number&quot;, tree, field.number)</span></span>
<span class="line"><span>  local time = from:take(3, &quot;time&quot;)</span></span>
<span class="line"><span>  tree:add_le(field.time, time):append_text(&quot; (&quot; .. time:le_uint() * TIME_UNIT_MICROS .. &quot; µs)&quot;)</span></span>
<span class="line"><span>  if flags &gt; 0 then</span></span>
<span class="line"><span>    acknowledgement(from, tree, flags == 3)</span></span>
<span class="line"><span>  end</span></span>
<span class="line"><span>  local names = {}</span></span>
<span class="line"><span>  while from:left() &gt; 0 do</span></span>
<span class="line"><span>    local start = from.at</span></span>
<span class="line"><span>    local head = from:take(1, &quot;frame type&quot;)</span></span>
<span class="line"><span>    local type = head:uint()</span></span>
<span class="line"><span>    local name = type &lt; 16 and FRAMES[type] or LANE_FRAMES[math.floor(type / 16)]</span></span>
<span class="line"><span>    check(name ~= nil, &quot;frame type&quot;)</span></span>
<span class="line"><span>    local branch = tree:add(field.frame, from.range:range(start), name)</span></span>
<span class="line"><span>    if type &gt;= 16 then</span></span>
<span class="line"><span>      branch:add(field.lane, head, type % 16)</span></span>
<span class="line"><span>    end</span></span>
<span class="line"><span>    local summary = frames[name](from, branch)</span></span>
<span class="line"><span>    branch:set_len(from.at - start)</span></span>
<span class="line"><span>    if type &gt;= 16 then</span></span>
<span class="line"><span>      branch:append_text(&quot;, lane &quot; .. type % 16)</span></span>
<span class="line"><span>    end</span></span>
<span class="line"><span>    if summary and summary ~= &quot;&quot; then</span></span>
<span class="line"><span>      branch:append_text(&quot;: &quot; .. summary)</span></span>
<span class="line"><span>    end</span></span>
<span class="line"><span>    if names[#names] ~= name then</span></span>
<span class="line"><span>      table.insert(names, name)</span></span>
<span class="line"><span>    end</span></span>
<span class="line"><span>  end</span></span>
<span class="line"><span>  return &quot;#&quot; .. number .. &quot; &quot; .. table.concat(names, &quot; &quot;)</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>-- Dissects one packet. Returns its summary.</span></span>
<span class="line"><span>local function packet(range, tree)</span></span>
<span class="line"><span>  local from = reader(range)</span></span>
<span class="line"><span>  local type = range:range(0, 1):uint()</span></span>
<span class="line"><span>  if type &lt; 0x80 then</span></span>
<span class="line"><span>    return data(from, tree)</span></span>
<span class="line"><span>  end</span></span>
<span class="line"><span>  check(handshake[type] ~= nil, &quot;type&quot;)</span></span>
<span class="line"><span>  from:fixed(1, &quot;type&quot;, tree, field.type)</span></span>
<span class="line"><span>  local summary = handshake[type](from, tree)</span></span>
<span class="line"><span>  return PACKET_TYPES[type] .. (summary ~= &quot;&quot; and &quot; &quot; .. summary or &quot;&quot;)</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>local function show(range, pinfo, root)</span></span>
<span class="line"><span>  local tree = root:add(nowcast, range)</span></span>
<span class="line"><span>  local ok, outcome = pcall(packet, range, tree)</span></span>
<span class="line"><span>  if not ok then</span></span>
<span class="line"><span>    if type(outcome) ~= &quot;table&quot; then</span></span>
<span class="line"><span>      error(outcome, 0)</span></span>
<span class="line"><span>    end</span></span>
<span class="line"><span>    tree:add(malformed_field, range, outcome.malformed)</span></span>
<span class="line"><span>    tree:add_proto_expert_info(malformed, &quot;malformed: &quot; .. outcome.malformed)</span></span>
<span class="line"><span>    outcome = &quot;malformed: &quot; .. outcome.malformed</span></span>
<span class="line"><span>  end</span></span>
<span class="line"><span>  tree:append_text(&quot;: &quot; .. outcome)</span></span>
<span class="line"><span>  return outcome</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>function nowcast.dissector(buffer, pinfo, root)</span></span>
<span class="line"><span>  if buffer:len() == 0 then</span></span>
<span class="line"><span>    return 0</span></span>
<span class="line"><span>  end</span></span>
<span class="line"><span>  pinfo.cols.protocol = &quot;Nowcast&quot;</span></span>
<span class="line"><span>  pinfo.cols.info = show(buffer:range(), pinfo, root)</span></span>
<span class="line"><span>  return buffer:len()</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>DissectorTable.get(&quot;ws.protocol&quot;):add(&quot;nowcast.1&quot;, nowcast)</span></span>
<span class="line"><span></span></span>
<span class="line"><span>-- Wireshark passes the datagrams of QUIC to no dissector, so they are read after each packet. A datagram begins with its</span></span>
<span class="line"><span>-- quarter stream ID (RFC 9297), which is a QUIC integer; sessions use the stream 0.</span></span>
<span class="line"><span>local datagrams = Proto(&quot;nowcast_datagrams&quot;, &quot;Nowcast over WebTransport&quot;)</span></span>
<span class="line"><span>local quic_datagram = Field.new(&quot;quic.dg&quot;)</span></span>
<span class="line"><span></span></span>
<span class="line"><span>function datagrams.dissector(_, pinfo, root)</span></span>
<span class="line"><span>  for _, info in ipairs({ quic_datagram() }) do</span></span>
<span class="line"><span>    local range = info.range</span></span>
<span class="line"><span>    if range:len() &gt; 1 and range:range(0, 1):uint() == 0 then</span></span>
<span class="line"><span>      local outcome = show(range:range(1), pinfo, root)</span></span>
<span class="line"><span>      pinfo.cols.protocol = &quot;Nowcast&quot;</span></span>
<span class="line"><span>      pinfo.cols.info:append(&quot;, &quot; .. outcome)</span></span>
<span class="line"><span>    end</span></span>
<span class="line"><span>  end</span></span>
<span class="line"><span>end</span></span>
<span class="line"><span></span></span>
<span class="line"><span>register_postdissector(datagrams)</span></span></code></pre></div></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("source/spec/wireshark/nowcast-lua.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const nowcastLua = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  nowcastLua as default
};
