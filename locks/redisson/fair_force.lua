-- Takes a fair lock away from whoever holds it, and wakes the head of the queue.
-- KEYS[1]  the lock: a hash of the owner to the number of its holds
-- KEYS[2]  the list of the owners that wait, the first at its head
-- KEYS[3]  the sorted set of owners by when they may be evicted, on clients' clocks
-- KEYS[4]  the channel; each owner listens on its own, which is this and ":owner"
-- ARGV[1]  the message that wakes a waiter
-- ARGV[2]  now, in milliseconds, by the client's clock
-- ARGV[3]  PUBLISH or SPUBLISH
-- Returns 1 if somebody held it, 0 if not.
while true do
  local head = redis.call('lindex', KEYS[2], 0)
  if not head then
    break
  end
  local until_ms = redis.call('zscore', KEYS[3], head)
  if until_ms and tonumber(until_ms) <= tonumber(ARGV[2]) then
    redis.call('zrem', KEYS[3], head)
    redis.call('lpop', KEYS[2])
  else
    break
  end
end

if redis.call('del', KEYS[1]) == 1 then
  local head = redis.call('lindex', KEYS[2], 0)
  if head then
    redis.call(ARGV[3], KEYS[4] .. ':' .. head, ARGV[1])
  end
  return 1
end
return 0
