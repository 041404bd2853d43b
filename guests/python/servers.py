"""The Redis servers by redis-py, and a record of the commands that a library sends to them."""
import sys
import threading
import time

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import Sentinel

SETTLING = 1.0  # how long a refusal waits for answers that the library did not wait for


class Call:
    def __init__(self):
        self.pending = 0
        self.sent = 0
        self.failed = None


class Wire:
    """The commands of one session. A library may swallow errors and drop replies, and a refusal is definite
    only if there was an answer to each command."""

    def __init__(self):
        self.changed = threading.Condition()
        self.call = Call()

    def begin(self):
        with self.changed:
            self.call = Call()

    def silent(self):
        """Whether the call has sent nothing."""
        with self.changed:
            return self.call.sent == 0

    def doubt(self):
        """Why the call's refusal is not definite, or None if it is."""
        with self.changed:
            call = self.call
            self.changed.wait_for(lambda: call.pending == 0, SETTLING)
            if call.failed:
                return f"a server did not answer: {call.failed!r}"
            return f"{call.pending} commands have no answer yet" if call.pending else None

    def send(self, run):
        with self.changed:
            call = self.call
            call.sent += 1
            call.pending += 1
        failed = None
        try:
            return run()
        except redis.exceptions.NoScriptError:
            raise
        except Exception as e:
            failed = e
            raise
        finally:
            with self.changed:
                call.pending -= 1
                call.failed = call.failed or failed
                self.changed.notify_all()


class Recorded(redis.Redis):
    """A client of one session, on connections that all sessions share."""

    def __init__(self, pool, wire):
        super().__init__(connection_pool=pool)
        self.wire = wire

    def execute_command(self, *args, **options):
        return self.wire.send(lambda: super(Recorded, self).execute_command(*args, **options))


class Servers:
    """One connection pool for each server that holds locks of its own, once a majority of them answers. It
    tries for as long as lockbench lets it."""

    def __init__(self, store, careful):
        # Careful: a command has a second for its answer and is not sent again. The rest is the default of
        # redis-py, which sends commands again.
        options = {"socket_timeout": 1, "socket_connect_timeout": 1, "retry": Retry(NoBackoff(), 0)} if careful else {}
        topology = store["topology"]
        if topology == "sentinel":
            sentinels = [tuple(s["addr"].rsplit(":", 1)) for s in store["sentinels"]]
            masters = [Sentinel(sentinels, **options).master_for(store["master_name"])]
        elif topology in ("single", "replicated", "independent"):
            masters = [redis.Redis(*n["addr"].rsplit(":", 1), **options) for n in store["nodes"]]
        else:
            raise ValueError(f"no topology {topology}")
        self.masters = masters  # one that is garbage disconnects its pool
        answered = threading.Semaphore(0)
        for master in masters:
            threading.Thread(target=self.meet, args=(master, answered), daemon=True).start()
        for _ in range(len(masters) // 2 + 1):
            answered.acquire()

    @staticmethod
    def meet(master, answered):
        while True:
            try:
                master.ping()
                answered.release()
                return
            except redis.RedisError as e:
                print(f"connect: {e!r}", file=sys.stderr)
                time.sleep(0.05)

    def clients(self, wire):
        return [Recorded(master.connection_pool, wire) for master in self.masters]
