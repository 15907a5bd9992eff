-- All keys are read at once; what is no text reads as nothing.
local texts = redis.call('MGET', unpack(KEYS))
local function read(at) return texts[at] end
