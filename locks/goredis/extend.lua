-- Moves the end of a lock that still holds the caller's token.
-- KEYS[1]  the lock
-- ARGV[1]  the caller's token
-- ARGV[2]  milliseconds from now to the new end
-- Returns 1 if it was the caller's, 0 if not.
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('pexpire', KEYS[1], ARGV[2])
end
return 0
