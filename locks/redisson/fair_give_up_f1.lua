-- Leaves the queue of a fair lock: form F1, which gives time back to all if the
-- head leaves and to nobody else.
-- KEYS[1]  the list of the owners that wait
-- KEYS[2]  the sorted set of owners by when they may be evicted
-- ARGV[1]  the owner
-- ARGV[2]  milliseconds to give back
-- Returns how many places were left, 0 or 1.
if redis.call('lindex', KEYS[1], 0) == ARGV[1] then
  for _, waiter in ipairs(redis.call('zrange', KEYS[2], 0, -1)) do
    redis.call('zincrby', KEYS[2], -tonumber(ARGV[2]), waiter)
  end
end
redis.call('zrem', KEYS[2], ARGV[1])
return redis.call('lrem', KEYS[1], 0, ARGV[1])
