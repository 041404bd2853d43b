"""The guest's side of lockbench-guest/1, which docs/guest-protocol.md describes, for the adapters of this folder.

An adapter is a class; an object of it is one attempt to get a lock:
  acquire(), release()  return True if it happened and False if the library says no, and raise otherwise
  renew(seconds)        the same; absent: unsupported
  renewed               the length of the lease in seconds if the library renews it; absent or None: it does not
  period                the time between two renewals; absent: a third of the lease
No library here reports when a lease ends that it does not renew, so the client counts such a lease from the answer.
Its last argument is a function to call when the library says that the lock is lost, if the adapter claims "watched".
The wire says whether a "no" is definite: each command that the call sent has been answered."""
import json
import os
import sys
import threading
import time
import traceback

from servers import Wire


class Unsupported(Exception):
    """The lock cannot do this. Nothing was done."""


class BadRequest(Exception):
    """The request makes no sense. Nothing was done."""


class Request:
    """What an acquire asks for. Times are in seconds, a ttl of 0 asks for a renewed lease."""

    def __init__(self, r, claims):
        keys = r.get("keys") or ([r["key"]] if "key" in r else [])
        if not keys or "" in keys:
            raise BadRequest("a lock has a name")
        if r.get("ttl_ns", 0) < 0 or r.get("wait_ns", 0) < 0:
            raise BadRequest("a time is not negative")
        if len(keys) > 1:
            raise Unsupported("it takes one key")
        if r.get("mode", "exclusive") != "exclusive" or r.get("owner"):
            raise Unsupported("it is neither shared nor re-entrant")
        if not r.get("ttl_ns") and not claims.get("renewed"):
            raise Unsupported("it renews no lease, and needs a ttl")
        self.key = keys[0]
        self.ttl = r.get("ttl_ns", 0) / 1e9
        self.wait = r.get("wait_ns", 0) / 1e9


class Session:
    """One attempt to get a lock, and what is done later with what it got."""

    def __init__(self, name):
        self.name = name
        self.wire = Wire()
        self.attempt = None
        self.granted = self.releasing = self.lost = False
        self.end = None  # of the lease, on time.monotonic(); None: it is renewed
        self.thread = None  # of its last call


# adds redis-py-pypi, python-redis-lock, pottery, sherlock, kazoo: a thread for each call; and no second release, because the guest forgets the lock
class Guest:
    def __init__(self, name, adapter, options):
        self.name, self.adapter, self.options = name, adapter, options
        self.sessions = {}
        self.servers = None
        self.saying = threading.Lock()

    @staticmethod
    def put(message):
        print(json.dumps(message), flush=True)

    def say(self, message, granted=None):
        """Write a line; granted is the session that it tells of its grant."""
        with self.saying:
            self.put(message)
            if granted is not None:
                granted.granted = True
                if granted.lost:
                    self.put({"notice": "lost", "session": granted.name})

    def open(self, r):
        self.servers = self.adapter.connect(r["store"], self.options)
        return {"ok": True}

    def acquire(self, r):
        session = self.sessions[r["session"]]
        request = Request(r, self.adapter.claims)
        watch = [lambda: self.tell(session)] if self.adapter.claims.get("watched") else []
        session.attempt = self.adapter(self.servers.clients(session.wire), session.wire, request, self.options, *watch)
        if not session.attempt.acquire():
            answer = self.no(session, "taken")
            if "fail" in answer:
                del self.sessions[r["session"]]
            return answer
        return self.lease(session, request.ttl)

    def check(self, r):
        session = self.sessions.get(r["session"])
        if session is None or not session.granted or session.lost:
            return {"fail": "lost"}
        return {"ok": True} if session.end is None or time.monotonic() < session.end else {"fail": "lost"}

    def renew(self, r):
        session = self.sessions.get(r["session"])
        if session is None:
            return {"fail": "not-held"}
        if not hasattr(session.attempt, "renew") or session.end is None:
            raise Unsupported("the library renews it")
        if not session.attempt.renew(r["ttl_ns"] / 1e9):
            return self.no(session, "not-held")
        return self.lease(session, r["ttl_ns"] / 1e9)

    def release(self, r):
        session = self.sessions.get(r["session"])
        if session is None or session.attempt is None:
            return {"fail": "not-held"}
        with self.saying:
            session.releasing = True
        answer = {"ok": True} if session.attempt.release() else self.no(session, "not-held")
        if "unknown" not in answer:
            del self.sessions[r["session"]]
        return answer

    def ok(self, r):  # a touch does not look again
        return {"ok": True}

    operations = {"open": open, "acquire": acquire, "check": check, "touch": ok, "renew": renew, "release": release, "close": ok}

    def tell(self, session):
        """Send the notice of a loss, once, after the acquire was answered and before a release begins."""
        with self.saying:
            first, session.lost = not session.lost, True
            if first and session.granted and not session.releasing:
                self.put({"notice": "lost", "session": session.name})

    def lease(self, session, ttl):
        """The answer to an acquire or a renewal that succeeded."""
        renewed = getattr(session.attempt, "renewed", None)
        if renewed is not None:
            period = getattr(session.attempt, "period", 0)
            return {"ok": True, "renewed": True, "lease_ns": int(renewed * 1e9), "period_ns": int(period * 1e9)}
        session.end = time.monotonic() + ttl
        return {"ok": True}

    # adds redis-py-pypi, python-redis-lock, pottery, sherlock: a refusal is unknown if a command of the call was not answered
    def no(self, session, word):
        """The answer to a refusal: the word if it is definite."""
        doubt = session.wire.doubt()
        return {"unknown": doubt} if doubt else {"fail": word}

    def handle(self, r, session=None, before=None):
        if before is not None:
            before.join()
        if session is not None:
            session.wire.begin()
        operation = self.operations.get(r["op"])
        try:
            answer = operation(self, r) if operation else {"fail": "bad-request", "text": "no such operation"}
        except Unsupported as e:
            answer = {"fail": "unsupported", "text": str(e)}
        except BadRequest as e:
            answer = {"fail": "bad-request", "text": str(e)}
        except Exception as e:
            traceback.print_exc()
            answer = {"unknown": repr(e)}
        self.say({"id": r["id"], **answer}, session if r["op"] == "acquire" and "ok" in answer else None)

    def serve(self):
        self.say({"hello": "lockbench-guest/1", "name": self.name, "version": self.adapter.version,
                  "service": getattr(self.adapter, "service", "redis"), "family": self.adapter.family,
                  "claims": self.adapter.claims, "model": ["mutex"]})
        for line in sys.stdin:
            r = json.loads(line)
            if r["op"] not in ("acquire", "renew", "release"):
                self.handle(r)  # short, and in order
                continue
            # A call waits for the calls of its session before it.
            session = self.sessions.setdefault(r["session"], Session(r["session"])) if r["op"] == "acquire" else self.sessions.get(r["session"])
            before = session.thread if session else None
            thread = threading.Thread(target=self.handle, args=(r, session, before), daemon=True)
            if session:
                session.thread = thread
            thread.start()
        os._exit(0)
