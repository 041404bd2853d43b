-- Takes a read-write lock away from whoever holds it, if it is in a mode.
-- KEYS[1]  the lock
-- KEYS[2]  the channel on which waiters listen
-- ARGV[1]  the message that wakes waiters
-- ARGV[2]  the mode: read or write
-- ARGV[3]  PUBLISH or SPUBLISH
-- Returns 1 if somebody held it so, 0 if not.
if redis.call('hget', KEYS[1], 'mode') == ARGV[2] then
  redis.call('del', KEYS[1])
  redis.call(ARGV[3], KEYS[2], ARGV[1])
  return 1
end
return 0
