"""A lock is lost after a failed renewal, released, and taken again with the same object."""

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
time.sleep(1)
try:
    lock.release()
except redis_lock.NotAcquired as e:
    print(f"release raises {e!r}: the lock was lost, because one renewal failed")
try:
    print(f"the next acquire returns {lock.acquire(blocking=False)}")
    print("gone: the lock can be taken again")
except Exception as e:
    print(f"the next acquire raises {e!r}; its key lives for {client.pttl('lock:job')} ms")
    if client.exists("lock:job"):
        print("exists: acquire raised and left its key behind, so no client gets the lock")
    else:
        print("could not try: acquire raised without leaving a key")
