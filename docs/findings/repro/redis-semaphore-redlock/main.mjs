// Three clients try to take a mutex of 2 s, one after the other, while the last of five servers is dead.
import Redis from "ioredis";
import { RedlockMutex } from "redis-semaphore";

const [pid, ...ports] = process.argv.slice(2);
const clients = ports.map((port) => new Redis({ port }).on("error", () => {}));
await Promise.all(clients.map((client) => client.ping()));
const free = new RedlockMutex(clients, "job", { lockTimeout: 2000 });
if (!(await free.tryAcquire())) {
  console.log("could not try: a free mutex was refused while all servers were there");
  process.exit();
}
await free.release();
process.kill(Number(pid), "SIGKILL");
const killed = Date.now();
const seconds = () => `${((Date.now() - killed) / 1000).toFixed(1)} s after the crash`;

const holders = new Set();
let most = 0;
async function client(name, delay) {
  await new Promise((resolve) => setTimeout(resolve, delay));
  const options = { lockTimeout: 2000, onLockLost: () => holders.delete(name) };
  const mutex = new RedlockMutex(clients, "job", options);
  console.log(`${name} asks for the mutex ${seconds()}`);
  if (!(await mutex.tryAcquire())) return;
  holders.add(name);
  console.log(`${name} holds the mutex ${seconds()}, and so do ${holders.size - 1} others`);
  most = Math.max(most, holders.size);
}
await Promise.all([client("A", 1000), client("B", 4000), client("C", 7000)]);
if (most > 1) console.log(`exists: ${most} clients hold the mutex at once; no client was notified of a loss`);
else console.log("gone: the mutex had one holder at a time, or none");
process.exit();
