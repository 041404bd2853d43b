-- Frees a lock that seconds_take.lua took.
-- KEYS[1]  the lock
-- ARGV[1]  the owner
-- Returns 1 if that owner held it, else 0.
if redis.call('hget', KEYS[1], 'owner') == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0
