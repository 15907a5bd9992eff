-- Keys whose pages are read as they are needed must not be read whole. What is no text reads as nothing.
local function read(at) return redis.call('MGET', KEYS[at])[1] end
