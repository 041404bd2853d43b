"""One adapter for each lock library of PyPI that is tested. Each calls the library as its documentation does."""
import logging
import math
import time
from importlib.metadata import version

import pottery
import redis_lock
import sherlock
from kazoo.exceptions import LockTimeout
from redis.exceptions import LockError
from redis.lock import Lock

from options import duration, on_off, one_of
from protocol import Unsupported
from servers import Servers
from zookeeper import Sessions

logging.disable()  # the libraries log each refusal


def versions(package):
    return f"{package} {version(package)} on redis-py {version('redis')}"


# adds python-redis-lock, sherlock: leases are rounded up to whole seconds, which the libraries take
def whole(seconds):
    """A library that takes whole seconds gets the next one."""
    return math.ceil(seconds)


class OnRedis:
    """A lock on redis-py."""

    @staticmethod
    def connect(store, options):
        return Servers(store, options["careful"])


class RedisPy(OnRedis):
    """https://redis.readthedocs.io/en/stable/lock.html"""

    version = f"redis-py {version('redis')}"
    family = "single-store"
    claims = {"bounded": True, "waits": True}
    options = {"careful": on_off("off"), "sleep": duration("100ms")}

    def __init__(self, clients, wire, request, options):
        self.wire, self.wait = wire, request.wait
        # adds redis-py-pypi: thread_local=False, because each call has a thread of its own
        self.lock = Lock(clients[0], request.key, timeout=request.ttl, sleep=options["sleep"], thread_local=False)

    def acquire(self):
        return self.lock.acquire(blocking=self.wait > 0, blocking_timeout=self.wait or None)

    def renew(self, seconds):
        try:
            return self.lock.extend(seconds, replace_ttl=True)
        except LockError:
            return False

    def release(self):
        try:
            self.lock.release()
        except LockError:
            if self.wire.silent():
                raise  # it does not know a lock that it was not granted
            return False
        return True


class PythonRedisLock(OnRedis):
    """https://python-redis-lock.readthedocs.io/en/latest/readme.html"""

    version = versions("python-redis-lock")
    family = "single-store"
    claims = {"bounded": True, "renewed": True, "waits": True}
    options = {"careful": on_off("off"), "lease": duration("60s")}

    def __init__(self, clients, wire, request, options):
        self.wait = request.wait
        lease = whole(request.ttl or options["lease"])
        self.renewed, self.period = None if request.ttl else lease, lease * 2 / 3
        if request.ttl and whole(self.wait) > lease:
            raise Unsupported("it waits no longer than a lease that is not renewed")
        self.lock = redis_lock.Lock(clients[0], request.key, expire=lease, auto_renewal=not request.ttl)

    def acquire(self):
        if self.wait:
            return self.lock.acquire(timeout=whole(self.wait))
        return self.lock.acquire(blocking=False)

    def renew(self, seconds):
        try:
            self.lock.extend(expire=whole(seconds))
        except redis_lock.NotAcquired:
            return False
        return True

    def release(self):
        try:
            self.lock.release()
        except redis_lock.NotAcquired:
            return False
        return True


class Pottery(OnRedis):
    """https://github.com/brainix/pottery#redlock"""

    version = versions("pottery")
    family = "majority"
    claims = {"bounded": True, "waits": True}
    options = {"careful": on_off("off")}

    def __init__(self, clients, wire, request, options):
        self.wait = request.wait
        self.lock = pottery.Redlock(key=request.key, masters=set(clients), auto_release_time=request.ttl)

    def acquire(self):
        return self.lock.acquire(timeout=self.wait) if self.wait else self.lock.acquire(blocking=False)

    def renew(self, seconds):
        # adds pottery: a renewal sets auto_release_time, because extend takes no lease
        before = self.lock.auto_release_time
        self.lock.auto_release_time = seconds
        try:
            self.lock.extend()
        except pottery.TooManyExtensions:
            self.lock.auto_release_time = before
            raise Unsupported("it extends a lock three times")
        except pottery.ExtendUnlockedLock:
            return False
        return True

    def release(self):
        try:
            self.lock.release()
        except pottery.ReleaseUnlockedLock:
            return False
        return True


class Sherlock(OnRedis):
    """https://sherlock.readthedocs.io"""

    version = versions("sherlock")
    family = "single-store"
    claims = {"bounded": True, "waits": True}
    options = {"careful": on_off("off"), "expire": one_of("ttl", "none"), "retry-interval": duration("100ms")}

    def __init__(self, clients, wire, request, options):
        self.wire, self.wait = wire, request.wait
        self.lock = sherlock.RedisLock(
            request.key, client=clients[0], expire=None if options["expire"] == "none" else whole(request.ttl),
            timeout=request.wait, retry_interval=options["retry-interval"])

    def acquire(self):
        try:
            return self.lock.acquire(blocking=self.wait > 0)
        except sherlock.LockTimeoutException:
            return False

    def renew(self, seconds):
        # adds sherlock: a renewal sets expire, because renew takes no lease
        self.lock.expire = whole(seconds)
        return self.lock.renew()

    def release(self):
        try:
            self.lock.release()
        except sherlock.LockException:
            if self.wire.silent():
                raise  # it does not know a lock that it was not granted
            return False
        return True


class Kazoo:
    """https://kazoo.readthedocs.io/en/latest/api/recipe/lock.html"""

    version = f"kazoo {version('kazoo')}"
    service = "zookeeper"
    family = "single-store"
    claims = {"renewed": True, "watched": True, "waits": True}
    options = {"session": duration("2s")}
    connect = Sessions

    def __init__(self, sessions, wire, request, options, tell):
        self.wait, self.tell = request.wait, tell
        self.renewed = request.ttl or options["session"]
        self.client = sessions.client(self.renewed)
        self.lock = self.client.Lock("/kazoo-" + request.key.replace("/", "%2F"))
        self.suspended = self.expired = False

    def acquire(self):
        try:
            granted = self.lock.acquire(blocking=self.wait > 0, timeout=self.wait or None)
        except LockTimeout:
            return False
        if granted:
            # A connection that went before this has come back: the answers came over it.
            self.client.add_listener(self.listen)
        return granted

    # adds kazoo: without a connection a lock counts as lost, as kazoo advises
    def listen(self, state):
        if state in ("SUSPENDED", "LOST"):
            self.suspended, self.expired = True, self.expired or state == "LOST"
            self.tell()

    def release(self):
        had = self.lock.release()
        self.client.remove_listener(self.listen)
        # adds kazoo: a release after a lost connection has an unknown outcome, because kazoo does not report it
        if self.suspended and had and not self.expired:
            raise RuntimeError("released after a SUSPENDED, and kazoo does not say whether it was held")
        return had and not self.expired


ADAPTERS = {"redis-py-pypi": RedisPy, "python-redis-lock": PythonRedisLock, "pottery": Pottery, "sherlock": Sherlock, "kazoo": Kazoo}
