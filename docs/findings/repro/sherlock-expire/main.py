"""Two clients take a lock that never expires."""

import sys

import redis
import sherlock

client = redis.Redis(port=int(sys.argv[1]))
first = sherlock.RedisLock("job", client=client, expire=None)
second = sherlock.RedisLock("job", client=client, expire=None)
granted = first.acquire(blocking=False)
print(f"the first acquire returns {granted}; the keys of the server are {client.keys('*')}")
if not granted:
    print("could not try: the first acquire was refused")
elif second.acquire(blocking=False):
    print("exists: a lock with expire=None was granted to two clients at once")
else:
    print("gone: the second acquire was refused")
