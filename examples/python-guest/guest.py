#!/usr/bin/python3 -u
"""A lockbench guest: redis-py's own lock, redis.lock.Lock, on one master or behind Sentinel."""
import json, sys, time
from fractions import Fraction
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import Sentinel
from redis.exceptions import LockError

store = None   # the Redis client, after open
sessions = {}  # name -> (lock, end of its lease on the monotonic clock in ns, counted from the answer)

def connect(r):
    global store
    given = r["store"]
    # adds redis-py: no command is sent again, half a second for each answer, and a token of its own, so that an unknown grant can be released
    # Never resend: a SET NX whose reply was lost and that is sent once more says
    # "taken", though this client holds. So: no retries, not after a timeout either.
    options = {"socket_timeout": 0.5, "socket_connect_timeout": 0.5, "retry": Retry(NoBackoff(), 0)}
    if given["topology"] in ("single", "replicated"):
        store = redis.Redis(*given["nodes"][0]["addr"].rsplit(":", 1), **options)
    elif given["topology"] == "sentinel":
        sentinels = [s["addr"].rsplit(":", 1) for s in given["sentinels"]]
        store = Sentinel(sentinels, **options).master_for(given["master_name"])
    else:
        return {"fail": "unsupported", "text": "this guest needs one master"}
    while True:
        try:
            store.ping()  # here, so that the first acquire does not wait for a connection
            return {"ok": True}
        except (redis.ConnectionError, redis.TimeoutError) as e:  # lockbench limits the time
            print(e, file=sys.stderr)
            time.sleep(0.1)

def acquire(r):
    ms = r.get("ttl_ns", 0) // 1_000_000
    if "key" not in r or r.get("mode", "exclusive") != "exclusive" or r.get("wait_ns") or ms < 1:
        return {"fail": "unsupported", "text": "it takes one key, alone, one try, a TTL of at least 1 ms"}
    lock = redis.lock.Lock(store, r["key"], timeout=Fraction(ms, 1000), blocking=False, thread_local=False)
    lock.local.token = token = f'{r["session"]}/{time.time_ns()}'.encode()
    sessions[r["session"]] = lock, 0  # also if the outcome is unknown: release cleans up
    if not lock.acquire(token=token):
        del sessions[r["session"]]
        return {"fail": "taken"}
    return counted(r["session"], lock, ms)

def counted(session, lock, ms):
    """redis-py does not report when a lease ends, so its user counts from the answer, and so does lockbench."""
    sessions[session] = lock, time.monotonic_ns() + ms * 1_000_000
    return {"ok": True}

def check(r):
    return {"ok": True} if time.monotonic_ns() < sessions[r["session"]][1] else {"fail": "lost"}

def touch(r):
    return {"ok": True}  # "I run". It does not look again

def renew(r):
    lock, ms = sessions[r["session"]][0], r["ttl_ns"] // 1_000_000
    lock.extend(Fraction(ms, 1000), replace_ttl=True)
    return counted(r["session"], lock, ms)

def release(r):
    if r["session"] not in sessions:
        raise LockError("the session has ended")
    lock = sessions[r["session"]][0]
    token = lock.local.token
    try:
        lock.release()
    finally:
        lock.local.token = token  # release forgets it first, but an unknown one may be asked for again
    del sessions[r["session"]]
    return {"ok": True}

def handle(r):
    try:
        answer = OPS[r["op"]](r) if r["op"] in OPS else {"fail": "bad-request"}
    except LockError as e:  # Redis has answered: the key is not, or no longer, ours
        answer = {"fail": "not-held", "text": str(e)}
    except Exception as e:  # no answer, or an error in place of one: the outcome is unknown
        answer = {"unknown": repr(e)}
    print(json.dumps({"id": r["id"], **answer}), flush=True)

OPS = {"open": connect, "acquire": acquire, "check": check, "touch": touch, "renew": renew,
       "release": release, "close": touch}  # after close our input ends, and so do we
print(json.dumps({"hello": "lockbench-guest/1", "name": "redis-py", "version": redis.__version__,
                  "family": "single-store", "claims": {"bounded": True}}), flush=True)
for line in sys.stdin:
    handle(json.loads(line))
