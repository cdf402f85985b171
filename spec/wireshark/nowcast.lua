-- Dissects the packets of Nowcast sessions (spec/SESSION.md) in Wireshark and tshark, from version 4.0 on.
--
-- Packets are found in WebSocket connections with the subprotocol nowcast.1, and in the QUIC datagrams of WebTransport
-- sessions. QUIC is encrypted: Wireshark needs the file that the program wrote to SSLKEYLOGFILE (docs/how-to/wireshark.md).

local LEAST_HELLO_BYTES = 160
local PART_BYTES = 1024
local FURTHER_RANGES_MAX = 31
local REFUSE_TEXT_BYTES_MAX = 64
local REASON_BYTES_MAX = 128
local STAMP_END = UInt64(0, 1):lshift(30) -- 2^62
local TIME_UNIT_MICROS = 16

local nowcast = Proto("nowcast", "Nowcast session")

local CLOSE_CODES = {
  [0] = "done", [1] = "malformed", [2] = "limit_exceeded", [3] = "violation", [4] = "gave_up", [5] = "version",
  [6] = "unknown_session", [7] = "wrong_token", [8] = "busy", [9] = "unauthorised", [10] = "going_away", [11] = "behind",
}
local EVENT_KINDS = { [0] = "event", [1] = "command", [2] = "reply", [3] = "barrier", [4] = "expired" }
local PACKET_TYPES = { [0x80] = "HELLO", [0x81] = "WELCOME", [0x82] = "REFUSE" }
-- The names of frames without a lane, and of frames with one by their high four bits.
local FRAMES = { [0x00] = "PADDING", [0x01] = "PING", [0x02] = "PROOF", [0x03] = "CLOSE" }
local LANE_FRAMES = { "STATES", "EVENT", "EVENT_PART", "STATE_PART", "WINDOW", "REPLICATION" }

local field = {
  type = ProtoField.uint8("nowcast.type", "Packet type", base.HEX, PACKET_TYPES),
  magic = ProtoField.string("nowcast.magic", "Magic"),
  version = ProtoField.uint64("nowcast.version", "Version"),
  version_min = ProtoField.uint64("nowcast.version_min", "Lowest version"),
  version_max = ProtoField.uint64("nowcast.version_max", "Highest version"),
  nonce = ProtoField.bytes("nowcast.nonce", "Nonce"),
  proof = ProtoField.bytes("nowcast.proof", "Proof"),
  clock = ProtoField.uint64("nowcast.clock", "Clock, µs"),
  hello_clock = ProtoField.uint64("nowcast.hello_clock", "Clock of the HELLO, µs"),
  lanes_max = ProtoField.uint64("nowcast.limits.lanes_max", "Maximum number of lanes"),
  window_bytes = ProtoField.uint64("nowcast.limits.window_bytes", "Window, bytes"),
  message_bytes_max = ProtoField.uint64("nowcast.limits.message_bytes_max", "Maximum message, bytes"),
  packet_bytes_max = ProtoField.uint64("nowcast.limits.packet_bytes_max", "Maximum packet, bytes"),
  idle_timeout_ms = ProtoField.uint64("nowcast.limits.idle_timeout_ms", "Idle time-out, ms"),
  resume_timeout_ms = ProtoField.uint64("nowcast.limits.resume_timeout_ms", "Resume time-out, ms"),
  resume = ProtoField.uint8("nowcast.resume", "Resumes a session"),
  session = ProtoField.bytes("nowcast.session", "Session"),
  token = ProtoField.bytes("nowcast.token", "Token"),
  epoch = ProtoField.uint64("nowcast.epoch", "Epoch"),
  padding = ProtoField.uint32("nowcast.padding", "Padding, bytes"),
  code = ProtoField.uint32("nowcast.code", "Code", base.DEC, CLOSE_CODES),
  text = ProtoField.string("nowcast.text", "Text"),
  flags = ProtoField.uint8("nowcast.flags", "Flags", base.HEX),
  number = ProtoField.uint16("nowcast.number", "Packet number modulo 65,536"),
  time = ProtoField.uint32("nowcast.time", "Time of departure, 16 µs"),
  ack_largest = ProtoField.uint16("nowcast.ack.largest", "Largest acknowledged number modulo 65,536"),
  ack_delay = ProtoField.uint64("nowcast.ack.delay", "Delay of the acknowledgement, 16 µs"),
  ack_first = ProtoField.uint64("nowcast.ack.first", "Numbers directly below"),
  ack_count = ProtoField.uint64("nowcast.ack.count", "Further ranges"),
  ack_gap = ProtoField.uint64("nowcast.ack.gap", "Gap, less 1"),
  ack_length = ProtoField.uint64("nowcast.ack.length", "Length, less 1"),
  frame = ProtoField.string("nowcast.frame", "Frame"),
  lane = ProtoField.uint8("nowcast.lane", "Lane"),
  interval = ProtoField.uint64("nowcast.interval", "Interval"),
  stamp = ProtoField.uint64("nowcast.stamp", "Stamp"),
  key = ProtoField.uint64("nowcast.key", "Key"),
  offset = ProtoField.uint64("nowcast.offset", "Offset of the stamp"),
  age = ProtoField.uint64("nowcast.age", "Age, ms"),
  value = ProtoField.bytes("nowcast.value", "Value"),
  event = ProtoField.uint64("nowcast.event", "Event number"),
  kind = ProtoField.uint8("nowcast.kind", "Kind", base.DEC, EVENT_KINDS),
  before = ProtoField.uint64("nowcast.before", "Sum of the stamps before"),
  answers = ProtoField.uint64("nowcast.answers", "Number of the answered command"),
  payload = ProtoField.bytes("nowcast.payload", "Payload"),
  total = ProtoField.uint32("nowcast.total", "Total length, bytes"),
  index = ProtoField.uint32("nowcast.index", "Index of the part"),
  part = ProtoField.bytes("nowcast.part", "Part"),
  consumed = ProtoField.uint64("nowcast.consumed", "Events consumed"),
}
local malformed_field = ProtoField.string("nowcast.malformed", "Malformed field")
local malformed = ProtoExpert.new("nowcast.malformed_packet", "Malformed packet", expert.group.MALFORMED, expert.severity.ERROR)
nowcast.fields = { malformed_field }
for _, each in pairs(field) do
  table.insert(nowcast.fields, each)
end
nowcast.experts = { malformed }

-- Ends the dissection of a packet. `name` is the field that cannot be read, by its name in the vectors of the session.
local function refuse(name)
  error({ malformed = name }, 0)
end

local function check(condition, name)
  if not condition then
    refuse(name)
  end
end

local function is_utf8(bytes)
  local at = 0
  while at < bytes:len() do
    local first = bytes:get_index(at)
    local more, least = 0, 0
    if first >= 0xF0 and first <= 0xF4 then
      more, least = 3, 0x10000
    elseif first >= 0xE0 and first < 0xF0 then
      more, least = 2, 0x800
    elseif first >= 0xC2 and first < 0xE0 then
      more, least = 1, 0x80
    elseif first >= 0x80 then
      return false
    end
    local point = more == 0 and first or first % 2 ^ (6 - more)
    for step = 1, more do
      if at + step >= bytes:len() or math.floor(bytes:get_index(at + step) / 64) ~= 2 then
        return false
      end
      point = point * 64 + bytes:get_index(at + step) % 64
    end
    if point < least or point > 0x10FFFF or (point >= 0xD800 and point <= 0xDFFF) then
      return false
    end
    at = at + 1 + more
  end
  return true
end

-- Reads fields from `range` in their order, and adds each to a tree.
local Reader = {}
Reader.__index = Reader

local function reader(range)
  return setmetatable({ range = range, at = 0 }, Reader)
end

function Reader:left()
  return self.range:len() - self.at
end

function Reader:take(length, name)
  check(length <= self:left(), name)
  -- A range of no bytes cannot be made, so an empty field is shown at the byte before it.
  local taken = length > 0 and self.range:range(self.at, length) or nil
  self.at = self.at + length
  return taken
end

-- Fixed sizes, little-endian.
function Reader:fixed(length, name, tree, of)
  local taken = self:take(length, name)
  if length > 4 then
    local value = taken:le_uint64()
    tree:add_le(of, taken)
    return value
  end
  tree:add_le(of, taken)
  return taken:le_uint()
end

function Reader:raw(length, name, tree, of)
  local taken = self:take(length, name)
  tree:add(of, taken)
  return taken
end

-- An unsigned LEB128 number in its shortest form, below 2^64.
function Reader:varint(name, tree, of)
  local start, value, shift = self.at, UInt64(0), 0
  while true do
    local byte = self:take(1, name):uint()
    check(shift < 63 or byte <= 1, name)
    value = value:bor(UInt64(byte % 128):lshift(shift))
    shift = shift + 7
    if byte < 128 then
      check(byte > 0 or shift == 7, name)
      break
    end
  end
  if tree then
    tree:add(of, self.range:range(start, self.at - start), value)
  end
  return value
end

-- A varint below 2^32.
function Reader:small(name, tree, of)
  local start = self.at
  local value = self:varint(name)
  check(value < UInt64(0, 1), name)
  tree:add(of, self.range:range(start, self.at - start), value:tonumber())
  return value:tonumber()
end

-- A length and that number of bytes. Returns the range, or nil if there are no bytes.
function Reader:bytes(name, tree, of)
  local start = self.at
  local length = self:varint(name)
  check(length <= UInt64(self:left()), name)
  local taken = self:take(length:tonumber(), name)
  if taken then
    tree:add(of, taken)
  else
    tree:add(of, self.range:range(start, self.at - start), ""):append_text("(empty)")
  end
  return taken
end

function Reader:text(bytes_max, name, tree, of)
  local start = self.at
  local length = self:varint(name)
  check(length <= UInt64(bytes_max) and length <= UInt64(self:left()), name)
  local taken = self:take(length:tonumber(), name)
  if not taken then
    tree:add(of, self.range:range(start, self.at - start), "")
    return ""
  end
  check(is_utf8(taken:bytes()), name)
  tree:add(of, taken, taken:string(ENC_UTF_8))
  return taken:string(ENC_UTF_8)
end

local function limits(from, tree)
  local branch = tree:add(nowcast, from.range:range(from.at), "Limits")
  local least = {
    { "lanes_max", 1 }, { "window_bytes", 16384 }, { "message_bytes_max", 1024 }, { "packet_bytes_max", 1200 },
    { "idle_timeout_ms", 100 }, { "resume_timeout_ms", 0 },
  }
  local window
  for _, limit in ipairs(least) do
    local name = limit[1]
    local value = from:varint(name, branch, field[name])
    check(value >= UInt64(limit[2]), name)
    check(name ~= "lanes_max" or value <= UInt64(16), name)
    window = name == "window_bytes" and value or window
    check(name ~= "message_bytes_max" or value <= window / UInt64(4), name)
  end
end

local function identity(from, tree)
  from:raw(8, "session", tree, field.session)
  from:raw(16, "token", tree, field.token)
  from:varint("epoch", tree, field.epoch)
end

local function versions(from, tree)
  local lowest = from:varint("version_min", tree, field.version_min)
  local highest = from:varint("version_max", tree, field.version_max)
  check(lowest <= highest, "version_max")
end

local handshake = {}

handshake[0x80] = function(from, tree)
  local magic = from:take(4, "magic")
  tree:add(field.magic, magic)
  check(magic:string() == "NOWC", "magic")
  versions(from, tree)
  from:raw(8, "nonce", tree, field.nonce)
  from:fixed(8, "clock", tree, field.clock)
  limits(from, tree)
  local resume = from:fixed(1, "resume", tree, field.resume)
  check(resume <= 1, "resume")
  if resume == 1 then
    identity(from, tree)
  end
  local padding = from:take(from:left(), "padding")
  check(from.range:len() >= LEAST_HELLO_BYTES, "padding")
  if padding then
    tree:add(field.padding, padding, padding:len())
    check(padding:bytes():tohex():find("[^0]") == nil, "padding")
  end
  return resume == 1 and "resumes a session" or "new session"
end

handshake[0x81] = function(from, tree)
  from:varint("version", tree, field.version)
  from:raw(8, "nonce", tree, field.nonce)
  from:raw(8, "proof", tree, field.proof)
  identity(from, tree)
  from:fixed(8, "hello_clock", tree, field.hello_clock)
  from:fixed(8, "clock", tree, field.clock)
  limits(from, tree)
  check(from:left() == 0, "end")
  return ""
end

handshake[0x82] = function(from, tree)
  from:raw(8, "nonce", tree, field.nonce)
  local code = from:small("code", tree, field.code)
  versions(from, tree)
  local text = from:text(REFUSE_TEXT_BYTES_MAX, "text", tree, field.text)
  check(from:left() == 0, "end")
  return (CLOSE_CODES[code] or code) .. ", " .. text
end

local function acknowledgement(from, tree, has_further)
  local branch = tree:add(nowcast, from.range:range(from.at), "Acknowledgement")
  from:fixed(2, "ack largest", branch, field.ack_largest)
  from:varint("ack delay", branch, field.ack_delay)
  from:varint("ack first", branch, field.ack_first)
  if not has_further then
    return
  end
  local count = from:varint("ack count", branch, field.ack_count)
  check(count >= UInt64(1) and count <= UInt64(FURTHER_RANGES_MAX), "ack count")
  for _ = 1, count:tonumber() do
    from:varint("ack gap", branch, field.ack_gap)
    from:varint("ack length", branch, field.ack_length)
  end
end

local function event_head(from, branch)
  from:varint("number", branch, field.event)
  local kind = from:fixed(1, "kind", branch, field.kind)
  check(EVENT_KINDS[kind] ~= nil, "kind")
  from:varint("before", branch, field.before)
  if kind == 2 then
    from:varint("answers", branch, field.answers)
  end
  return kind
end

local function part(from, branch)
  local total = from:small("total", branch, field.total)
  check(total > PART_BYTES, "total")
  local index = from:small("index", branch, field.index)
  check(index < math.ceil(total / PART_BYTES), "index")
  local bytes = from:take(math.min(PART_BYTES, total - index * PART_BYTES), "part")
  branch:add(field.part, bytes)
end

local frames = {}

function frames.PADDING() end
function frames.PING() end

function frames.PROOF(from, branch)
  from:raw(8, "proof", branch, field.proof)
end

function frames.CLOSE(from, branch)
  local code = from:small("code", branch, field.code)
  local reason = from:text(REASON_BYTES_MAX, "reason", branch, field.text)
  return (CLOSE_CODES[code] or code) .. " " .. reason
end

function frames.STATES(from, branch)
  from:varint("interval", branch, field.interval)
  local stamp = from:varint("stamp", branch, field.stamp)
  local records = 0
  while from:left() > 0 do
    local start = from.at
    local key = from:varint("key")
    if key == UInt64(0) then
      break
    end
    from.at = start
    local record = branch:add(nowcast, from.range:range(start), "State")
    from:varint("key", record, field.key)
    local offset = from:varint("offset", record, field.offset)
    check(offset < STAMP_END and stamp < STAMP_END, "offset")
    local own = stamp + offset
    check(own > UInt64(0) and own < STAMP_END, "offset")
    from:varint("age", record, field.age)
    from:bytes("value", record, field.value)
    record:set_len(from.at - start)
    record:append_text(" of key " .. tostring(key) .. ", stamp " .. tostring(own))
    records = records + 1
  end
  check(records > 0, "records")
  return records .. (records == 1 and " state" or " states")
end

function frames.EVENT(from, branch)
  local kind = event_head(from, branch)
  local payload = from:bytes("payload", branch, field.payload)
  check(kind < 3 or payload == nil, "payload")
  return EVENT_KINDS[kind]
end

function frames.EVENT_PART(from, branch)
  local kind = event_head(from, branch)
  check(kind < 3, "kind")
  part(from, branch)
  return EVENT_KINDS[kind]
end

function frames.STATE_PART(from, branch)
  from:varint("interval", branch, field.interval)
  local stamp = from:varint("stamp", branch, field.stamp)
  check(stamp > UInt64(0) and stamp < STAMP_END, "stamp")
  check(from:varint("key", branch, field.key) > UInt64(0), "key")
  from:varint("age", branch, field.age)
  part(from, branch)
end

function frames.WINDOW(from, branch)
  from:varint("consumed", branch, field.consumed)
end

function frames.REPLICATION(from, branch)
  local payload = from:bytes("payload", branch, field.payload)
  return (payload and payload:len() or 0) .. " bytes"
end

local function data(from, tree)
  local flags = from:fixed(1, "flags", tree, field.flags)
  check(flags < 4 and flags ~= 2, "flags")
  local number = from:fixed(2, "number", tree, field.number)
  local time = from:take(3, "time")
  tree:add_le(field.time, time):append_text(" (" .. time:le_uint() * TIME_UNIT_MICROS .. " µs)")
  if flags > 0 then
    acknowledgement(from, tree, flags == 3)
  end
  local names = {}
  while from:left() > 0 do
    local start = from.at
    local head = from:take(1, "frame type")
    local type = head:uint()
    local name = type < 16 and FRAMES[type] or LANE_FRAMES[math.floor(type / 16)]
    check(name ~= nil, "frame type")
    local branch = tree:add(field.frame, from.range:range(start), name)
    if type >= 16 then
      branch:add(field.lane, head, type % 16)
    end
    local summary = frames[name](from, branch)
    branch:set_len(from.at - start)
    if type >= 16 then
      branch:append_text(", lane " .. type % 16)
    end
    if summary and summary ~= "" then
      branch:append_text(": " .. summary)
    end
    if names[#names] ~= name then
      table.insert(names, name)
    end
  end
  return "#" .. number .. " " .. table.concat(names, " ")
end

-- Dissects one packet. Returns its summary.
local function packet(range, tree)
  local from = reader(range)
  local type = range:range(0, 1):uint()
  if type < 0x80 then
    return data(from, tree)
  end
  check(handshake[type] ~= nil, "type")
  from:fixed(1, "type", tree, field.type)
  local summary = handshake[type](from, tree)
  return PACKET_TYPES[type] .. (summary ~= "" and " " .. summary or "")
end

local function show(range, pinfo, root)
  local tree = root:add(nowcast, range)
  local ok, outcome = pcall(packet, range, tree)
  if not ok then
    if type(outcome) ~= "table" then
      error(outcome, 0)
    end
    tree:add(malformed_field, range, outcome.malformed)
    tree:add_proto_expert_info(malformed, "malformed: " .. outcome.malformed)
    outcome = "malformed: " .. outcome.malformed
  end
  tree:append_text(": " .. outcome)
  return outcome
end

function nowcast.dissector(buffer, pinfo, root)
  if buffer:len() == 0 then
    return 0
  end
  pinfo.cols.protocol = "Nowcast"
  pinfo.cols.info = show(buffer:range(), pinfo, root)
  return buffer:len()
end

DissectorTable.get("ws.protocol"):add("nowcast.1", nowcast)

-- Wireshark passes the datagrams of QUIC to no dissector, so they are read after each packet. A datagram begins with its
-- quarter stream ID (RFC 9297), which is a QUIC integer; sessions use the stream 0.
local datagrams = Proto("nowcast_datagrams", "Nowcast over WebTransport")
local quic_datagram = Field.new("quic.dg")

function datagrams.dissector(_, pinfo, root)
  for _, info in ipairs({ quic_datagram() }) do
    local range = info.range
    if range:len() > 1 and range:range(0, 1):uint() == 0 then
      local outcome = show(range:range(1), pinfo, root)
      pinfo.cols.protocol = "Nowcast"
      pinfo.cols.info:append(", " .. outcome)
    end
  end
end

register_postdissector(datagrams)
