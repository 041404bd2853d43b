-- Takes a fair lock, or queues for it: form F4, that of today.
-- KEYS[1]  the lock: a hash of the owner to the number of its holds
-- KEYS[2]  the list of the owners that wait, the first at its head
-- KEYS[3]  the sorted set of owners by when they may be evicted, on clients' clocks
-- ARGV[1]  milliseconds of lease
-- ARGV[2]  the owner
-- ARGV[3]  milliseconds that a waiter is thought to live
-- ARGV[4]  now, in milliseconds, by the client's clock
-- Returns nil if granted, else how many milliseconds to wait before asking again.

-- Waiters whose time is over lose their places. One without a time stops this.
while true do
  local head = redis.call('lindex', KEYS[2], 0)
  if not head then
    break
  end
  local until_ms = redis.call('zscore', KEYS[3], head)
  if until_ms and tonumber(until_ms) <= tonumber(ARGV[4]) then
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
  for _, waiter in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do
    redis.call('zincrby', KEYS[3], -tonumber(ARGV[3]), waiter)
  end
  redis.call('hset', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if redis.call('zscore', KEYS[3], ARGV[2]) then
  return math.max(0, redis.call('pttl', KEYS[1]))
end
-- Behind the last: its time, and one's own on top of it.
local left
local last = redis.call('lindex', KEYS[2], -1)
local last_until = last and last ~= ARGV[2] and redis.call('zscore', KEYS[3], last)
if last_until then
  left = tonumber(last_until) - tonumber(ARGV[4])
else
  left = redis.call('pttl', KEYS[1])
end
if redis.call('zadd', KEYS[3], left + tonumber(ARGV[3]) + tonumber(ARGV[4]), ARGV[2]) == 1 then
  redis.call('rpush', KEYS[2], ARGV[2])
end
return left
