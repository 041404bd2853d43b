-- Takes a lock if it is free and counts the grant.
-- KEYS[1]  the lock
-- KEYS[2]  the counter of its grants, in the same slot
-- ARGV[1]  the caller's token of ownership
-- ARGV[2]  milliseconds from now to the end of the lease
-- Returns the number of this grant, from 1; 0 if the lock is taken.
if redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2]) then
  return redis.call('incr', KEYS[2])
end
return 0
