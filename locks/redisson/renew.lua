-- Moves the end of many locks at once. A key that is no hash ends the script
-- where it stands, and what comes behind it is not renewed (hazard R-12).
-- KEYS     the locks
-- ARGV[1]  milliseconds of lease from now
-- ARGV[2]  the owner that must hold KEYS[1], ARGV[3] that of KEYS[2], and so on
-- Returns a list: 1 where the owner held it, 0 where not.
local held = {}
for i = 1, #KEYS do
  held[i] = 0
  if redis.call('hexists', KEYS[i], ARGV[i + 1]) == 1 then
    redis.call('pexpire', KEYS[i], ARGV[1])
    held[i] = 1
  end
end
return held
