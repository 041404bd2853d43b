"""A lock of 3 s is renewed every 2 s. The server refuses the first renewal and would accept the next one."""

import sys
import time

import redis
import redis_lock

client = redis.Redis(port=int(sys.argv[1]))
lock = redis_lock.Lock(client, "job", expire=3, auto_renewal=True)
lock.acquire()
time.sleep(1)
client.config_set("min-replicas-to-write", 1)  # refuses writes
time.sleep(1.5)
client.config_set("min-replicas-to-write", 0)
print(f"0.5 s after one refused renewal, the lock has {client.pttl('lock:job')} ms left")
time.sleep(1)
if redis_lock.Lock(client, "job", expire=3).acquire(blocking=False):
    print("exists: a second client was granted the lock; the first was not notified that it lost the lock")
else:
    print("gone: the renewal was tried again, and the lock is still held")
