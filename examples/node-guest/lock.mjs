// A lock by SET NX PX with a token on one master of Redis. Replace this file by your lock.
import { randomUUID } from "node:crypto";
import { performance } from "node:perf_hooks";
import Redis from "ioredis";

export const version = "ioredis 5.11.1";

// ioredis must send each command once. A SET NX that is sent again after a lost answer gets the answer
// "taken", although the first SET NX has taken the lock.
const sentOnce = { autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0, enableOfflineQueue: false, socketTimeout: 500 };
const ifMine = "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end ";
const server = ({ addr }) => ({ host: addr.slice(0, addr.lastIndexOf(":")), port: Number(addr.slice(addr.lastIndexOf(":") + 1)) });

// open connects to one master, directly or through its sentinels. It returns undefined for other topologies.
export async function open(store) {
  const address = { single: () => server(store.nodes[0]), replicated: () => server(store.nodes[0]),
    sentinel: () => ({ sentinels: store.sentinels.map(server), name: store.master_name }) }[store.topology];
  if (!address) return undefined;
  const redis = new Redis({ ...address(), ...sentOnce });
  redis.on("error", (error) => console.error(error.message));
  await new Promise((resolve) => redis.once("ready", resolve)); // it tries again after an error, and lockbench limits the time
  return { attempt: (key) => new Attempt(redis, key) };
}

// Attempt is one attempt to get a lock. Its methods resolve to whether the server did it, and throw if that is unknown.
class Attempt {
  #token = randomUUID();
  end = 0; // of the lease, on performance.now(); counted from before the request

  constructor(redis, key) {
    Object.assign(this, { redis, key });
  }

  async acquire(ttl) {
    this.end = performance.now() + ttl;
    return (await this.redis.set(this.key, this.#token, "PX", ttl, "NX")) === "OK";
  }

  async renew(ttl) {
    const end = performance.now() + ttl;
    const done = await this.#run("return redis.call('pexpire', KEYS[1], ARGV[2])", ttl);
    if (done) this.end = end;
    return done;
  }

  release() {
    return this.#run("return redis.call('del', KEYS[1])", "");
  }

  async #run(script, argument) {
    return (await this.redis.eval(ifMine + script, 1, this.key, this.#token, argument)) === 1;
  }
}
