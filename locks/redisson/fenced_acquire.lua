-- Takes a re-entrant lock and counts the grant, re-entry too.
-- KEYS[1]  the lock
-- KEYS[2]  the counter of its grants, which never expires
-- ARGV[1]  milliseconds of lease
-- ARGV[2]  the owner
-- Returns {-1, the number of this grant} or {milliseconds that the lock has left, -1}.
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return {-1, redis.call('incr', KEYS[2])}
end
return {redis.call('pttl', KEYS[1]), -1}
