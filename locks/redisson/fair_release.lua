-- Gives back one hold of a fair lock, and with the last one the lock, to the head
-- of the queue.
-- KEYS[1]  the lock: a hash of the owner to the number of its holds
-- KEYS[2]  the list of the owners that wait, the first at its head
-- KEYS[3]  the sorted set of owners by when they may be evicted, on clients' clocks
-- KEYS[4]  the channel; each owner listens on its own, which is this and ":owner"
-- KEYS[5]  the latch of this release: what it answered, if it has run already
-- ARGV[1]  the message that wakes a waiter
-- ARGV[2]  milliseconds of lease for the holds that are left
-- ARGV[3]  the owner
-- ARGV[4]  now, in milliseconds, by the client's clock
-- ARGV[5]  PUBLISH or SPUBLISH
-- ARGV[6]  milliseconds for which the latch is kept; 0: there is none
-- Returns nil if another holds it, 0 if holds are left, 1 if it is free, which it
-- may have been before: the release of an expired lock succeeds (hazard R-37).
local latched = ARGV[6] ~= '0'
if latched then
  local before = redis.call('get', KEYS[5])
  if before then
    return tonumber(before)
  end
end
while true do
  local head = redis.call('lindex', KEYS[2], 0)
  if not head then
    break
  end
  local until_ms = redis.call('zscore', KEYS[3], head)
  if until_ms and tonumber(until_ms) <= tonumber(ARGV[4]) then
    redis.call('zrem', KEYS[3], head)
    redis.call('lpop', KEYS[2])
  else
    break
  end
end

local function answer(freed)
  if latched then
    redis.call('set', KEYS[5], freed, 'px', ARGV[6])
  end
  if freed == 1 then
    local head = redis.call('lindex', KEYS[2], 0)
    if head then
      redis.call(ARGV[5], KEYS[4] .. ':' .. head, ARGV[1])
    end
  end
  return freed
end

if redis.call('exists', KEYS[1]) == 0 then
  return answer(1)
end
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
  return nil
end
if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return answer(0)
end
redis.call('del', KEYS[1])
return answer(1)
