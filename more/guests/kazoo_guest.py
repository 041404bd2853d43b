#!/usr/bin/python3 -u
"""A guest of lockbench: kazoo's own Lock, kazoo.recipe.lock.Lock. Each request has a thread,
and a client of kazoo's has one session timeout, so there is one for each ttl asked for."""
import json, os, sys, threading
from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import LockTimeout
from kazoo.version import __version__

SESSION = float(os.environ.get("LOCKBENCH_KAZOO_SESSION", "2"))
servers = ""
clients, sessions = {}, {}
saying, starting = threading.Lock(), threading.Lock()

class Attempt:
    def __init__(self, client, key, name):
        self.client, self.lock = client, client.Lock("/kazoo-" + key.replace("/", "%2F"), name)
        self.state = threading.Lock()   # of what is below
        self.turn = threading.Lock()    # one call after the other
        self.granted = self.told = self.expired = self.releasing = False

def say(message):
    with saying:
        print(json.dumps(message), flush=True)

# adds zk-kazoo: a client for each session timeout, because a client has one; and a thread for each request
# adds zk-kazoo: without a connection a lock counts as lost, as kazoo advises
def client_for(seconds):
    """The client for a session timeout. Its holders are told of a lost connection, as kazoo advises."""
    with starting:
        if seconds not in clients:
            c = KazooClient(servers, timeout=seconds)
            def listen(state):
                if state in (KazooState.SUSPENDED, KazooState.LOST):
                    lost(c, state == KazooState.LOST)
            c.add_listener(listen)
            c.start(timeout=10)
            clients[seconds] = c
        return clients[seconds]

def lost(client, expired):
    for name, a in list(sessions.items()):
        with a.state:
            if a.client is not client or not a.granted:
                continue
            a.expired = a.expired or expired
            if a.told or a.releasing:
                continue
            a.told = True
        say({"notice": "lost", "session": name})

def open_(r):
    global servers
    servers = ",".join(n["addr"] for n in r["store"]["endpoints"]["zookeeper"])
    return {"ok": True}

def acquire(r):
    if "key" not in r or r.get("mode", "exclusive") != "exclusive" or r.get("owner"):
        return {"fail": "unsupported", "text": "requests must have one key, exclusive mode and no owner"}
    if not r["key"] or r.get("ttl_ns", 0) < 0 or r.get("wait_ns", 0) < 0:
        return {"fail": "bad-request"}
    seconds = r.get("ttl_ns", 0) / 1e9 or SESSION
    wait = r.get("wait_ns", 0) / 1e9
    a = sessions[r["session"]] = Attempt(client_for(seconds), r["key"], r["session"])
    with a.turn:
        try:
            granted = a.lock.acquire(blocking=wait > 0, timeout=wait or None)
        except LockTimeout:
            granted = False
        with a.state:
            a.granted = granted
    if not granted:
        del sessions[r["session"]]
        return {"fail": "taken"}
    return {"ok": True, "renewed": True, "lease_ns": int(seconds * 1e9)}

def check(r):
    a = sessions[r["session"]]
    with a.state:
        return {"ok": True} if a.granted and not a.told else {"fail": "lost"}

def release(r):
    a = sessions.get(r["session"])
    if a is None:
        return {"fail": "not-held"}
    with a.turn:
        with a.state:
            a.releasing = True
        had = a.lock.release()
    # It deletes a node and does not say whether that was there; False: it knows of none.
    del sessions[r["session"]]
    with a.state:
        if not had or a.expired:
            return {"fail": "not-held"}
        if a.told:
            return {"unknown": "released after a SUSPENDED, and nobody knows whether it was held"}
    return {"ok": True}

OPS = {"open": open_, "acquire": acquire, "check": check, "release": release,
       "touch": lambda r: {"ok": True}, "close": lambda r: {"ok": True}, "renew": lambda r: {"fail": "unsupported"}}

def handle(r):
    try:
        answer = OPS[r["op"]](r) if r["op"] in OPS else {"fail": "bad-request"}
    except Exception as e:
        answer = {"unknown": repr(e)}
    say({"id": r["id"], **answer})

say({"hello": "lockbench-guest/1", "name": "zk-kazoo", "version": __version__, "family": "single-store",
     "service": "zookeeper", "claims": {"renewed": True, "watched": True, "waits": True}})
for line in sys.stdin:
    request = json.loads(line)
    if request["op"] in ("open", "check", "touch"):
        handle(request)  # short, and in order
    else:
        threading.Thread(target=handle, args=(request,), daemon=True).start()
os._exit(0)
