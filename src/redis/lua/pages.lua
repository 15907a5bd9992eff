-- luacheck: read globals pages indexes hold floor setmetatable
-- Keys of one tier, of which only the needed pages are read and written. Left out if no tier has such a key.
local pageSize = 64
pages.save = function(owner, key, lifeMs)
  if owner.isWiped then redis.call('DEL', key) end
  local at = {}
  for i in pairs(owner.written) do at[#at + 1] = i end
  table.sort(at)
  local i = 1
  while i <= #at do
    local run = {}
    repeat
      run[#run + 1] = struct.pack('<d', owner.written[at[i]])
      i = i + 1
    until at[i] ~= at[i - 1] + 1
    redis.call('SETRANGE', key, (at[i - 1] - #run) * 8, table.concat(run))
  end
  redis.call('PEXPIRE', key, lifeMs)
end
pages.load = function(key)
  local index = indexes[key]
  if index then return index end
  local owner = { pages = {}, written = {} }
  return hold(key, setmetatable({}, {
    __index = function(_, i)
      if owner.written[i] then return owner.written[i] end
      if owner.isWiped then return 0 end
      local first = floor((i - 1) / pageSize) * pageSize
      local text = owner.pages[first]
      if not text then
        text = redis.pcall('GETRANGE', key, first * 8, (first + pageSize) * 8 - 1)
        if type(text) ~= 'string' then
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
