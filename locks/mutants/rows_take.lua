-- Takes rows of a table, all of them or none.
-- KEYS[1]     the table: a hash of names to "owner end"
-- ARGV[1]     the owner
-- ARGV[2]     now, in milliseconds, by the client's clock
-- ARGV[3]     the end, by the same clock
-- ARGV[4...]  the names
-- Returns 1 if granted, 0 if not.
for i = 4, #ARGV do
  local row = redis.call('hget', KEYS[1], ARGV[i])
  if row and tonumber(string.match(row, ' (%d+)$')) > tonumber(ARGV[2]) then
    return 0
  end
end
for i = 4, #ARGV do
  redis.call('hset', KEYS[1], ARGV[i], ARGV[1] .. ' ' .. ARGV[3])
end
return 1
