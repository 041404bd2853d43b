-- Takes a fair lock at once or not at all: whoever asks so never queues, and is
-- refused while anybody does.
-- KEYS[1]  the lock: a hash of the owner to the number of its holds
-- KEYS[2]  the list of the owners that wait, the first at its head
-- KEYS[3]  the sorted set of owners by when they may be evicted, on clients' clocks
-- ARGV[1]  milliseconds of lease
-- ARGV[2]  the owner
-- ARGV[3]  now, in milliseconds, by the client's clock
-- ARGV[4]  milliseconds that a waiter is thought to live
-- Returns nil if granted, 1 if not.
while true do
  local head = redis.call('lindex', KEYS[2], 0)
  if not head then
    break
  end
  local until_ms = redis.call('zscore', KEYS[3], head)
  if until_ms and tonumber(until_ms) <= tonumber(ARGV[3]) then
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
    redis.call('zincrby', KEYS[3], -tonumber(ARGV[4]), waiter)
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
return 1
