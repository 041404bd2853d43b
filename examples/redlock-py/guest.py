"""A lockbench guest: redlock-py on independent masters, as its README calls it."""
import json, sys, time
import redis, redlock

manager = None  # after open
leases = {}     # session -> (lock, end of its lease on the monotonic clock)

def connect(r, read):
    global manager
    if r["store"]["topology"] != "independent":
        return {"fail": "unsupported", "text": "redlock-py needs independent masters"}
    addresses = [node["addr"].rsplit(":", 1) for node in r["store"]["nodes"]]
    manager = redlock.Redlock([{"host": host, "port": int(port), "db": 0} for host, port in addresses])
    for server in manager.servers:
        try:
            server.ping()  # here, so that the first lock() does not wait for connections
        except (redis.ConnectionError, redis.TimeoutError) as e:
            print(e, file=sys.stderr)  # lock() tries to connect again
    return {"ok": True}

def acquire(r, read):
    ms = r.get("ttl_ns", 0) // 1_000_000
    if "key" not in r or r.get("mode", "exclusive") != "exclusive" or r.get("wait_ns") or ms < 1:
        return {"fail": "unsupported", "text": "it takes one key, alone, one try, a TTL of at least 1 ms"}
    lock = manager.lock(r["key"], ms)  # raises if a server does not answer
    if not lock:
        return {"fail": "taken"}
    end = time.monotonic_ns() + int(lock.validity * 1_000_000)  # validity counts from the return of lock()
    leases[r["session"]] = lock, end
    return {"ok": True, "until_ns": end - read}

def check(r, read):
    lease = leases.get(r["session"])
    return {"ok": True} if lease and time.monotonic_ns() < lease[1] else {"fail": "lost"}

def release(r, read):
    lease = leases.pop(r["session"], None)
    if lease is None:
        return {"fail": "not-held"}  # lock() returned nothing, so there is nothing to give to unlock()
    manager.unlock(lease[0])
    return {"done": True}  # unlock() returns nothing

def unsupported(r, read):
    return {"fail": "unsupported"}

def nothing(r, read):
    return {"ok": True}

OPS = {"open": connect, "acquire": acquire, "check": check, "release": release, "renew": unsupported, "touch": nothing, "close": nothing}
print(json.dumps({"hello": "lockbench-guest/1", "name": "redlock-py", "version": "1.0.8", "family": "majority", "claims": {"bounded": True}}), flush=True)
for line in sys.stdin:
    read = time.monotonic_ns()  # until_ns counts from here
    request = json.loads(line)
    try:
        answer = OPS[request["op"]](request, read)
    except Exception as e:  # a server did not answer, so the outcome is unknown
        answer = {"unknown": repr(e)}
    print(json.dumps({"id": request["id"], **answer}), flush=True)
