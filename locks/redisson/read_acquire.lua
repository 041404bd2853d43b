-- Takes a read-write lock for reading.
-- KEYS[1]  the lock: a hash of "mode" to read or write, owners to their read holds,
--          and owner:write to the holds of the writer
-- KEYS[2]  what the keys of this owner's read holds begin with; the first is KEYS[2]:1
-- ARGV[1]  milliseconds of lease
-- ARGV[2]  the owner
-- ARGV[3]  the owner as a writer
-- Returns -2 if granted (Redisson: nil), else the milliseconds that the lock has
-- left (-1: for ever).
local mode = redis.call('hget', KEYS[1], 'mode')
if not mode then
  redis.call('hset', KEYS[1], 'mode', 'read', ARGV[2], 1)
  redis.call('set', KEYS[2] .. ':1', 1, 'px', ARGV[1])
  redis.call('pexpire', KEYS[1], ARGV[1])
  return -2
end
if mode == 'read' or redis.call('hexists', KEYS[1], ARGV[3]) == 1 then
  local holds = redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('set', KEYS[2] .. ':' .. holds, 1, 'px', ARGV[1])
  redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), tonumber(ARGV[1])))
  return -2
end
return redis.call('pttl', KEYS[1])
