-- What Clearpipe's captures hold beyond TCP/IP: XCP's congestion header, and VCP's load codes.
--
--   wireshark -X lua_script:clearpipe.lua LINK.pcapng
--   tshark    -X lua_script:clearpipe.lua -o clearpipe.vcp:TRUE -r LINK.pcapng
--
-- XCP's header is an experimental TCP option (kind 253, RFC 6994) with the ExID 0x5843: H_rtt [us] and
-- H_cwnd [bytes] in 32 bits each, H_feedback in 64 bits, signed, in 2^-16 bytes. VCP has no header, it
-- uses the two ECN bits, and so does TCP's ECN: the preference says how they are to be read.

local clearpipe = Proto("clearpipe", "Clearpipe")

local XCP = 0x5843
local KIND_END, KIND_NOP, KIND_EXPERIMENT = 0, 1, 253

local LOADS = { [0] = "not VCP", [1] = "low load", [2] = "high load", [3] = "overload" }

local f_rtt = ProtoField.uint32("clearpipe.xcp.h_rtt", "H_rtt [us]", base.DEC)
local f_cwnd = ProtoField.uint32("clearpipe.xcp.h_cwnd", "H_cwnd [bytes]", base.DEC)
local f_feedback = ProtoField.double("clearpipe.xcp.h_feedback", "H_feedback [bytes]")
local f_largest = ProtoField.bool("clearpipe.xcp.largest", "H_feedback is the largest value")
local f_load = ProtoField.uint8("clearpipe.vcp.load", "Load", base.DEC, LOADS)
clearpipe.fields = { f_rtt, f_cwnd, f_feedback, f_largest, f_load }

clearpipe.prefs.vcp = Pref.bool("ECN bits are VCP's load codes", false,
    "Show the two ECN bits as the load that VCP's routers report")

local options = Field.new("tcp.options")
local ecn = Field.new("ip.dsfield.ecn")

-- Shows the header that begins at `at`.
local function xcp(bytes, at, root)
    local part = bytes(at, 16)
    local tree = root:add(clearpipe, part, "XCP congestion header")
    tree:add(f_rtt, bytes(at, 4))
    tree:add(f_cwnd, bytes(at + 4, 4))
    local high, low = bytes(at + 8, 4):int(), bytes(at + 12, 4):uint()
    -- A double holds this exactly unless it is far beyond what any window changes by.
    local feedback = high * 65536 + low / 65536
    tree:add(f_feedback, bytes(at + 8, 8), feedback)
    local largest = high == 0x7fffffff and low == 0xffffffff
    if largest then
        tree:add(f_largest, bytes(at + 8, 8), true)
    end
    return largest and "H_feedback largest" or string.format("H_feedback %.1f", feedback)
end

-- Looks for XCP's option among all options.
local function find(bytes, root)
    local at, length = 0, bytes:len()
    while at < length do
        local kind = bytes(at, 1):uint()
        if kind == KIND_END then return nil end
        local size = 1
        if kind ~= KIND_NOP then
            if at + 2 > length then return nil end
            size = bytes(at + 1, 1):uint()
            if size < 2 or at + size > length then return nil end
        end
        if kind == KIND_EXPERIMENT and size == 20 and bytes(at + 2, 2):uint() == XCP then
            return xcp(bytes, at + 4, root)
        end
        at = at + size
    end
    return nil
end

function clearpipe.dissector(_, pinfo, root)
    local found = options()
    if found then
        local said = find(found.range, root)
        if said then pinfo.cols.info:append(" [XCP " .. said .. "]") end
    end
    local code = clearpipe.prefs.vcp and ecn()
    if code then
        local load = code.value
        root:add(clearpipe, code.range, "VCP"):add(f_load, code.range, load)
        pinfo.cols.info:append(" [VCP " .. LOADS[load] .. "]")
    end
end

register_postdissector(clearpipe)
