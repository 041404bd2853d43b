-- Takes a re-entrant lock, or counts one more hold of the same owner.
-- KEYS[1]  the lock: a hash of the owner to the number of its holds
-- ARGV[1]  milliseconds of lease
-- ARGV[2]  the owner
-- Returns -2 if granted (Redisson: nil), else the milliseconds that the lock has
-- left (-1: for ever).
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  -- Also on re-entry, and also if that is less than was left (hazard R-22).
  redis.call('pexpire', KEYS[1], ARGV[1])
  return -2
end
return redis.call('pttl', KEYS[1])
