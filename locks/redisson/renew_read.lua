-- Moves the end of many read locks at once, and of every hold of every reader of
-- each: one live reader keeps them all.
-- KEYS     the locks
-- ARGV[1]  milliseconds of lease from now
-- ARGV[i * 2]      the owner that must read KEYS[i]
-- ARGV[i * 2 + 1]  the part in braces that all keys of KEYS[i] begin with
-- Returns a list: 1 where the owner held it, 0 where not.
local held = {}
for i = 1, #KEYS do
  held[i] = 0
  if redis.call('hexists', KEYS[i], ARGV[i * 2]) == 1 then
    redis.call('pexpire', KEYS[i], ARGV[1])
    local fields = redis.call('hgetall', KEYS[i])
    for f = 1, #fields, 2 do
      local holds = tonumber(fields[f + 1]) -- "mode" has none
      for h = 1, holds or 0 do
        redis.call('pexpire', ARGV[i * 2 + 1] .. ':' .. fields[f] .. ':rwlock_timeout:' .. h, ARGV[1])
      end
    end
    held[i] = 1
  end
end
return held
