-- Gives back one hold of a re-entrant lock, and the lock with the last one.
-- KEYS[1]  the lock
-- KEYS[2]  the channel on which waiters listen
-- KEYS[3]  the latch of this release: what it answered, if it has run already
-- ARGV[1]  the message that wakes a waiter
-- ARGV[2]  milliseconds of lease for the holds that are left
-- ARGV[3]  the owner
-- ARGV[4]  PUBLISH or SPUBLISH; empty: tell nobody
-- ARGV[5]  milliseconds for which the latch is kept; 0: there is none
-- Returns nil if the owner does not hold it, 0 if holds are left, 1 if it is free now.
local latched = ARGV[5] ~= '0'
if latched then
  local before = redis.call('get', KEYS[3])
  if before then
    return tonumber(before)
  end
end
local holds = redis.call('hget', KEYS[1], ARGV[3])
if not holds then
  return nil
end
local freed = '0'
if tonumber(holds) > 1 then
  redis.call('hincrby', KEYS[1], ARGV[3], -1)
  redis.call('pexpire', KEYS[1], ARGV[2])
else
  redis.call('del', KEYS[1])
  if ARGV[4] ~= '' then
    redis.call(ARGV[4], KEYS[2], ARGV[1])
  end
  freed = '1'
end
if latched then
  redis.call('set', KEYS[3], freed, 'px', ARGV[5])
end
return tonumber(freed)
