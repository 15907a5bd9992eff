-- Keys whose pages are read as they are needed must not be read whole.
local function read(at)
  local text = redis.pcall('GET', KEYS[at])
  return type(text) == 'string' and text
end
