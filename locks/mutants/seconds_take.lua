-- Takes a lock that keeps its end itself, by the server's clock in whole seconds.
-- KEYS[1]  the lock: a hash with "owner" and "end"
-- ARGV[1]  the owner
-- ARGV[2]  the lease in milliseconds
-- Returns 1 if granted, 0 if not.
local now = tonumber(redis.call('time')[1])
local ends = redis.call('hget', KEYS[1], 'end')
if ends and tonumber(ends) > now then
  return 0
end
redis.call('hset', KEYS[1], 'owner', ARGV[1], 'end', now + math.ceil(ARGV[2] / 1000))
return 1
