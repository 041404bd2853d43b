-- Leaves the queue of a fair lock, as Redisson 3.5.5 to 3.11.0 did: all waiters get time back if the head leaves, and none
-- does otherwise.
-- KEYS[1]  the list of the owners that wait
-- KEYS[2]  the sorted set of owners by when they may be evicted
-- ARGV[1]  the owner
-- ARGV[2]  milliseconds that a waiter counts as alive; not used, 5000 here
-- Returns how many places were left, 0 or 1.
if redis.call('lindex', KEYS[1], 0) == ARGV[1] then
  for _, waiter in ipairs(redis.call('zrange', KEYS[2], 0, -1)) do
    redis.call('zincrby', KEYS[2], -5000, waiter)
  end
end
redis.call('zrem', KEYS[2], ARGV[1])
return redis.call('lrem', KEYS[1], 0, ARGV[1])
