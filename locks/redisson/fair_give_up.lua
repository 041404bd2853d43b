-- Leaves the queue of a fair lock: forms F3 and F4.
-- KEYS[1]  the list of the owners that wait
-- KEYS[2]  the sorted set of owners by when they may be evicted
-- ARGV[1]  the owner
-- ARGV[2]  milliseconds that a waiter is thought to live; those behind get them back
-- Returns how many places were left, 0 or 1.
local waiters = redis.call('lrange', KEYS[1], 0, -1)
local place
for i, waiter in ipairs(waiters) do
  if waiter == ARGV[1] then
    place = i
  end
end
if place then
  for i = place + 1, #waiters do
    redis.call('zincrby', KEYS[2], -tonumber(ARGV[2]), waiters[i])
  end
end
redis.call('zrem', KEYS[2], ARGV[1])
return redis.call('lrem', KEYS[1], 0, ARGV[1])
