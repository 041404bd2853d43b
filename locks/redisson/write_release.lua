-- Gives back one write hold of a read-write lock.
-- KEYS[1]  the lock
-- KEYS[2]  the channel on which waiters listen
-- KEYS[3]  the latch of this release: what it answered, if it has run already
-- ARGV[1]  the message that wakes all waiters
-- ARGV[2]  milliseconds of lease for the holds that are left
-- ARGV[3]  the owner as a writer
-- ARGV[4]  PUBLISH or SPUBLISH
-- ARGV[5]  milliseconds for which the latch is kept; 0: there is none
-- Returns nil if the owner does not write, 0 if write holds are left, 1 if not.
local latched = ARGV[5] ~= '0'
if latched then
  local before = redis.call('get', KEYS[3])
  if before then
    return tonumber(before)
  end
end
local function latch(answer)
  if latched then
    redis.call('set', KEYS[3], answer, 'px', ARGV[5])
  end
end

local mode = redis.call('hget', KEYS[1], 'mode')
if not mode then
  redis.call(ARGV[4], KEYS[2], ARGV[1])
  latch(1)
  return nil
end
if mode == 'read' or redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
  return nil
end
if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  latch(0)
  return 0
end
redis.call('hdel', KEYS[1], ARGV[3])
if redis.call('hlen', KEYS[1]) == 1 then
  redis.call('del', KEYS[1])
  redis.call(ARGV[4], KEYS[2], ARGV[1])
else
  -- The writer reads on. Readers that wait could come in now, and nobody tells
  -- them (hazard R-20).
  redis.call('hset', KEYS[1], 'mode', 'read')
end
latch(1)
return 1
