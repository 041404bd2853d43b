-- Takes a fair lock, or queues for it, as Redisson 3.5.5 to 3.11.0 did.
-- KEYS[1]  the lock: a hash of the owner to the number of its holds
-- KEYS[2]  the list of the owners that wait, the first at its head
-- KEYS[3]  the sorted set of owners by when they may be evicted, on clients' clocks
-- ARGV[1]  milliseconds of lease
-- ARGV[2]  the owner
-- ARGV[3]  milliseconds that a waiter counts as alive; not used, 5000 here
-- ARGV[4]  now, in milliseconds, by the client's clock
-- Returns nil if granted, else how many milliseconds to wait before asking again.
while true do
  local head = redis.call('lindex', KEYS[2], 0)
  if not head then
    break
  end
  local until_ms = redis.call('zscore', KEYS[3], head)
  if  tonumber(until_ms) <= tonumber(ARGV[4]) then
    redis.call('zrem', KEYS[3], head)
    redis.call('lpop', KEYS[2])
  else
    break
  end
end

if redis.call('exists', KEYS[1]) == 0
  and (redis.call('exists', KEYS[2]) == 0 or redis.call('lindex', KEYS[2], 0) == ARGV[2]) then
  redis.call('lpop', KEYS[2])
  redis.call('zrem', KEYS[3], ARGV[2])
  redis.call('hset', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
-- The time counts from that of the head, not of the last, and again with each request: times drift (hazard R-8).
local left
local head = redis.call('lindex', KEYS[2], 0)
if head and head ~= ARGV[2] then
  left = tonumber(redis.call('zscore', KEYS[3], head)) - tonumber(ARGV[4])
else
  left = redis.call('pttl', KEYS[1])
end
if redis.call('zadd', KEYS[3], left + tonumber(ARGV[4]) + 5000, ARGV[2]) == 1 then
  redis.call('rpush', KEYS[2], ARGV[2])
end
return left
