-- Gives back one read hold of a read-write lock.
-- KEYS[1]  the lock
-- KEYS[2]  the channel on which waiters listen
-- KEYS[3]  what the keys of this owner's read holds begin with
-- KEYS[4]  the part in braces that all keys of this lock begin with
-- KEYS[5]  the latch of this release: what it answered, if it has run already
-- ARGV[1]  the message that wakes a waiter
-- ARGV[2]  the owner
-- ARGV[3]  PUBLISH or SPUBLISH
-- ARGV[4]  milliseconds for which the latch is kept; 0: there is none
-- Returns nil if the owner does not read, 0 if holds are left, 1 if it is free now.
local latched = ARGV[4] ~= '0'
if latched then
  local before = redis.call('get', KEYS[5])
  if before then
    return tonumber(before)
  end
end
local function latch(answer)
  if latched then
    redis.call('set', KEYS[5], answer, 'px', ARGV[4])
  end
end

local mode = redis.call('hget', KEYS[1], 'mode')
if not mode then
  redis.call(ARGV[3], KEYS[2], ARGV[1])
  latch(1)
  return nil
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return nil
end
local holds = redis.call('hincrby', KEYS[1], ARGV[2], -1)
if holds == 0 then
  redis.call('hdel', KEYS[1], ARGV[2])
end
redis.call('del', KEYS[3] .. ':' .. (holds + 1))
if redis.call('hlen', KEYS[1]) > 1 then
  -- The lock lives as long as the longest read hold. The writer's own holds have
  -- no keys, so what it has left does not count (hazard R-19).
  local longest = -3
  local fields = redis.call('hgetall', KEYS[1])
  for f = 1, #fields, 2 do
    for h = 1, tonumber(fields[f + 1]) or 0 do
      local left = redis.call('pttl', KEYS[4] .. ':' .. fields[f] .. ':rwlock_timeout:' .. h)
      longest = math.max(longest, left)
    end
  end
  if longest > 0 then
    redis.call('pexpire', KEYS[1], longest)
    latch(0)
    return 0
  end
  if mode == 'write' then
    latch(0)
    return 0
  end
end
redis.call('del', KEYS[1])
redis.call(ARGV[3], KEYS[2], ARGV[1])
latch(1)
return 1
