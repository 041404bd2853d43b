"""The ZooKeeper servers by kazoo."""
import threading

from kazoo.client import KazooClient


# adds kazoo: a client for each session timeout, because a client has one
class Sessions:
    """A client of kazoo has one session timeout, so there is a client for each that is asked for."""

    def __init__(self, store, options):
        self.servers = ",".join(node["addr"] for node in store["endpoints"]["zookeeper"])
        self.started, self.starting = {}, threading.Lock()

    def clients(self, wire):
        return self

    def client(self, seconds):
        with self.starting:
            if seconds not in self.started:
                client = KazooClient(self.servers, timeout=seconds)
                client.start(timeout=10)
                self.started[seconds] = client
            return self.started[seconds]
