-- luacheck: read globals read extraMs longestLifeMs min
--[[
A key holds doubles. Each tier has [latest, offset, slots...]: the last time seen and how far steady time is ahead of it
(as `SteadyTime` saves them), then the numbers of its strategy. Of a blocked key [until, since] follow. Tiers of many
numbers have a key of their own, of which only the pages that are needed are read and written.
]]
-- What is held, by index: a key's numbers, its key, the bucket or the pages by which it is written, and its life if it
-- has changed.
local indexes, held, keyAt, ownerAt, lifeAt = {}, {}, {}, {}, {}
-- What pages.lua has, if any tier has a key of its own.
local pages = {}
local function hold(key, numbers, owner)
  local index = #held + 1
  indexes[key], held[index], keyAt[index], ownerAt[index], lifeAt[index] = index, numbers, key, owner, false
  return index
end
local function load(at, bucket)
  local key = KEYS[at]
  local index = indexes[key]
  if index then return index end
  local blob, bytes = read(at), bucket.size * 8
  if blob then
    if #blob == bytes then return hold(key, { struct.unpack(bucket.format, blob) }, bucket) end
    if #blob == bytes + 16 then
      local s = { struct.unpack(bucket.format .. 'dd', blob) }
      s.blockedUntil, s.blockedSince = s[bucket.size + 1], s[bucket.size + 2]
      return hold(key, s, bucket)
    end
  end
  local s = {}
  for i = 1, bucket.size do s[i] = 0 end
  return hold(key, s, bucket)
end
local function save(index)
  local key, s, owner, lifeMs = keyAt[index], held[index], ownerAt[index], lifeAt[index]
  if lifeMs <= 0 then
    redis.call('DEL', key)
    return
  end
  lifeMs = min(lifeMs + extraMs, longestLifeMs)
  if owner.pages then return pages.save(owner, key, lifeMs) end
  local blob = struct.pack(owner.format, unpack(s, 1, owner.size))
  if s.blockedUntil then blob = blob .. struct.pack('<dd', s.blockedUntil, s.blockedSince) end
  redis.call('SET', key, blob, 'PX', lifeMs)
end
