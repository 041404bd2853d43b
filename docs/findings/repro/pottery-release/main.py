"""Locks are taken and released one after the other, without contention and without faults."""

import sys
import time

import pottery
import redis

masters = {redis.Redis(port=int(port)) for port in sys.argv[1:]}
for count in range(1, 5001):
    lock = pottery.Redlock(key=f"k-{count}", masters=masters, auto_release_time=60)
    if not lock.acquire(blocking=False):
        print("could not try: a free lock was refused")
        sys.exit()
    lock.release()
    if count % 200 == 0:
        time.sleep(1)  # requests that are still under way arrive
        left = [key.decode() for master in masters for key in master.keys("*")]
        print(f"{count} locks were taken and released; keys left on the servers: {len(left)}")
        if left:
            print(f"exists: {left[0]} was released, and a server still refuses it for the rest of its 60 s")
            sys.exit()
print("gone: no key stayed on any server")
