-- Deletes rows of a table.
-- KEYS[1]     the table: a hash of names to "owner end"
-- ARGV[1]     the owner; empty: whoever it is
-- ARGV[2...]  the names
-- Returns how many were deleted.
local freed = 0
for i = 2, #ARGV do
  local row = redis.call('hget', KEYS[1], ARGV[i])
  if row and (ARGV[1] == '' or string.match(row, '^(.*) ') == ARGV[1]) then
    freed = freed + redis.call('hdel', KEYS[1], ARGV[i])
  end
end
return freed
