"""A lock is taken and released, one server of five is killed, and the lock is taken again."""

import os
import signal
import sys

import redis
import redlock

pid, *urls = sys.argv[1:]
servers = [redis.Redis.from_url(url) for url in urls]
locks = redlock.Redlock(servers)

first = locks.lock("job", 60_000)
print(f"with five servers, lock returns {first}")
if not first:
    print("could not try: a free lock was refused")
    sys.exit()
locks.unlock(first)
os.kill(int(pid), signal.SIGKILL)

try:
    second = locks.lock("job", 60_000)
    print(f"with four servers, lock returns {second}")
    raised = False
except redlock.MultipleRedlockException as e:
    print(f"with four servers, lock raises {e!r}")
    raised = True
keys = sum(server.exists("job") for server in servers[:4])
print(f"{keys} of four servers have the key")
if raised and keys > 0:
    print(f"exists: lock raised, and its key stays on {keys} servers for a minute, so no client gets the lock")
elif not raised and second:
    print("gone: the lock was granted by four servers of five")
else:
    print("gone: lock left no key behind")
