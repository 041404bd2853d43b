-- Takes a fair lock, or queues for it: form F3, that of 3.13.3 to 3.31.
-- KEYS[1]  the lock: a hash of the owner to the number of its holds
-- KEYS[2]  the list of the owners that wait, the first at its head
-- KEYS[3]  the sorted set of owners by when they may be evicted, on clients' clocks
-- ARGV[1]  milliseconds of lease
-- ARGV[2]  the owner
-- ARGV[3]  milliseconds that a waiter counts as alive
-- ARGV[4]  now, in milliseconds, by the client's clock
-- Returns nil if granted, else how many milliseconds to wait before asking again;
-- that can be less than none, which callers take for ever (hazard R-6).

-- A head without a time fails here.
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
local own = redis.call('zscore', KEYS[3], ARGV[2])
if own then
  return tonumber(own) - tonumber(ARGV[3]) - tonumber(ARGV[4])
end
local left
local last = redis.call('lindex', KEYS[2], -1)
if last and last ~= ARGV[2] then
  left = tonumber(redis.call('zscore', KEYS[3], last)) - tonumber(ARGV[4])
else
  left = redis.call('pttl', KEYS[1])
end
if redis.call('zadd', KEYS[3], left + tonumber(ARGV[3]) + tonumber(ARGV[4]), ARGV[2]) == 1 then
  redis.call('rpush', KEYS[2], ARGV[2])
end
return left
