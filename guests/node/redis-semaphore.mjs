// redis-semaphore: https://github.com/swarthy/redis-semaphore/blob/master/README.md
import { Mutex, RedlockMutex, TimeoutError } from "redis-semaphore";
import { duration, oneOf, onOff, version } from "./options.mjs";
import { returned } from "./protocol.mjs";
import { connect } from "./servers.mjs";

class Attempt {
  constructor(make, { ttl, wait }, options, lost) {
    if (!ttl) Object.assign(this, { renewed: options.lease, period: options.refresh || 0.8 * options.lease });
    const own = {
      lockTimeout: ttl || options.lease,
      refreshInterval: ttl ? 0 : options.refresh || undefined,
      retryInterval: options["retry-interval"],
      onLockLost: lost,
    };
    if (wait) own.acquireTimeout = wait;
    else own.acquireAttemptsLimit = 1;
    this.mutex = make(own);
    this.call = options.call;
  }

  // acquire() of the library fails where its tryAcquire() returns false.
  acquire() {
    if (this.call === "tryAcquire") return this.mutex.tryAcquire();
    return this.mutex.acquire().then(() => true, refused);
  }

  async release() {
    await this.mutex.release();
    return returned;
  }
}

function refused(error) {
  if (!(error instanceof TimeoutError)) throw error;
  return false;
}

const lock = (family, make) => ({
  version: version("redis-semaphore"),
  family,
  claims: () => ({ bounded: true, renewed: true, waits: true, watched: true }),
  options: {
    call: oneOf("tryAcquire", "acquire"),
    careful: onOff("off"),
    lease: duration("10s"),
    refresh: duration("0s"), // 0: four fifths of the lease
    "retry-interval": duration("10ms"),
  },
  async open(store, options) {
    const clients = await connect(store, options);
    return {
      attempt: (request, lost) => new Attempt((own) => make(clients, request.keys[0], own), request, options, lost),
    };
  },
});

export default {
  "redis-semaphore": lock("single-store", ([client], key, options) => new Mutex(client, key, options)),
  "redis-semaphore-redlock": lock("majority", (clients, key, options) => new RedlockMutex(clients, key, options)),
};
