-- Frees a lock that still holds the caller's token.
-- KEYS[1]  the lock
-- ARGV[1]  the caller's token
-- Returns 1 if it was the caller's, 0 if not.
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0
