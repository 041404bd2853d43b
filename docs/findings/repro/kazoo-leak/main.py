"""A proxy breaks the connection of a client once, when it deletes the node of a refused acquire. The session goes on."""

import socket
import struct
import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout

DELETE = 2  # the type of the request
server = ("127.0.0.1", int(sys.argv[1]))
deletes = []  # the types of the requests that the proxy did not forward


def receive(connection, size):
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise OSError("closed")
        data += part
    return data


def requests(client, upstream):
    """Forwards requests: a length, a number, the type, and the rest. The first request of a connection has no type."""
    first = True
    try:
        while True:
            size = receive(client, 4)
            request = receive(client, struct.unpack(">i", size)[0])
            if not first and struct.unpack(">i", request[4:8])[0] == DELETE and not deletes:
                deletes.append(request)
                break
            upstream.sendall(size + request)
            first = False
    except OSError:
        pass
    close(client, upstream)


def answers(client, upstream):
    try:
        while data := upstream.recv(4096):
            client.sendall(data)
    except OSError:
        pass
    close(client, upstream)


def close(*connections):
    for c in connections:
        try:
            c.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def proxy():
    listener = socket.create_server(("127.0.0.1", 0))

    def accept():
        while True:
            client, _ = listener.accept()
            upstream = socket.create_connection(server)
            for forward in requests, answers:
                threading.Thread(target=forward, args=(client, upstream), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def connect(port):
    client = KazooClient(f"127.0.0.1:{port}", timeout=2)
    client.start(timeout=10)
    return client


refused, other = connect(proxy()), connect(server[1])
held, lock = other.Lock("/job"), refused.Lock("/job")
held.acquire()
try:
    lock.acquire(timeout=0.5)
except LockTimeout as e:
    print(f"while another client holds the lock, acquire raises {e!r}")
if not deletes:
    print("could not try: the refused acquire deletes nothing")
    sys.exit()
while not refused.connected:
    time.sleep(0.01)
print(f"the connection broke at its delete and is there again; release returns {lock.release()}")
held.release()
try:
    other.Lock("/job").acquire(timeout=5)  # longer than the session, which goes on
    print("gone: the next client gets the lock")
except LockTimeout:
    print(f"exists: no client holds the lock, and another waits for 5 s behind a node of the refused client: {refused.get_children('/job')}")
