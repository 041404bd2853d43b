-- Takes a lock away from whoever holds it.
-- KEYS[1]  the lock
-- KEYS[2]  the channel on which waiters listen
-- ARGV[1]  the message that wakes a waiter
-- ARGV[2]  PUBLISH or SPUBLISH
-- Returns 1 if somebody held it, 0 if not.
if redis.call('del', KEYS[1]) == 1 then
  redis.call(ARGV[2], KEYS[2], ARGV[1])
  return 1
end
return 0
