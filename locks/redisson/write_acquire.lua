-- Takes a read-write lock for writing.
-- KEYS[1]  the lock
-- ARGV[1]  milliseconds of lease
-- ARGV[2]  the owner as a writer
-- Returns -2 if granted (Redisson: nil), else the milliseconds that the lock has
-- left (-1: for ever).
local mode = redis.call('hget', KEYS[1], 'mode')
if not mode then
  redis.call('hset', KEYS[1], 'mode', 'write', ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return -2
end
if mode == 'write' and redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  -- Added to what was left: three nested holds of 10 s keep it for 30 s (hazard R-25).
  redis.call('pexpire', KEYS[1], redis.call('pttl', KEYS[1]) + tonumber(ARGV[1]))
  return -2
end
return redis.call('pttl', KEYS[1])
