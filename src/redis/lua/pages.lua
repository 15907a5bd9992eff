-- luacheck: read globals pages indexes hold floor setmetatable
-- Keys of one tier, of which only the needed pages are read and written. Left out if no tier has such a key.
local pageSize = 64
local function textIn(key, from, count)
  local text = redis.call('GETRANGE', key, (from - 1) * 8, (from + count - 1) * 8 - 1)
  return text .. string.rep('\0', count * 8 - #text)
end
-- Writes what has changed, neighbours together.
local function flush(owner, key)
  local written = owner.written
  if owner.isWiped then redis.call('DEL', key) end
  for i in pairs(written) do
    if written[i - 1] == nil then
      local run, size = {}, 0
      repeat
        size = size + 1
        run[size] = struct.pack('<d', written[i + size - 1])
      until written[i + size] == nil
      redis.call('SETRANGE', key, (i - 1) * 8, table.concat(run))
    end
  end
  owner.pages, owner.written, owner.isWiped = {}, {}, false
end
pages.save = function(owner, key, lifeMs)
  flush(owner, key)
  redis.call('PEXPIRE', key, lifeMs)
end
pages.load = function(key)
  local index = indexes[key]
  if index then return index end
  local owner = { pages = {}, written = {} }
  local numbers = {}
  -- Moves so many numbers in one piece, however many they are; what is written goes out before.
  local function move(from, to, count)
    flush(owner, key)
    redis.call('SETRANGE', key, (to - 1) * 8, textIn(key, from, count))
  end
  return hold(key, setmetatable(numbers, {
    __index = function(_, i)
      if i == 'move' then return move end
      local value = owner.written[i]
      if value then return value end
      if owner.isWiped then return 0 end
      local first = floor((i - 1) / pageSize) * pageSize
      local text = owner.pages[first]
      if not text then
        text = redis.pcall('GETRANGE', key, first * 8, (first + pageSize) * 8 - 1)
        if type(text) ~= 'string' then
          -- Of all errors, that it is no text is the only one that may read as nothing.
          if not string.find(text.err, 'WRONGTYPE') then redis.call('GETRANGE', key, 0, 0) end
          owner.isWiped = true
          return 0
        end
        owner.pages[first] = text
      end
      local from = (i - 1 - first) * 8
      return #text < from + 8 and 0 or (struct.unpack('<d', text, from + 1))
    end,
    __newindex = function(_, i, value) owner.written[i] = value end
  }), owner)
end
