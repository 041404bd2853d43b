// redis-semaphore: https://github.com/swarthy/redis-semaphore/blob/master/README.md
import { Mutex, RedlockMutex } from "redis-semaphore";
import { duration, onOff, version } from "./options.mjs";
import { returned } from "./protocol.mjs";
import { connect } from "./servers.mjs";

class Attempt {
  constructor(make, { ttl, wait }, options, wire, lost) {
    Object.assign(this, { make, ttl, wire, lease: options.lease });
    this.options = {
      lockTimeout: ttl || options.lease,
      refreshInterval: ttl ? 0 : options.refresh || undefined,
      retryInterval: options["retry-interval"],
      onLockLost: lost,
    };
    if (wait) this.options.acquireTimeout = wait;
    else this.options.acquireAttemptsLimit = 1;
    this.mutex = make(this.options);
  }

  async acquire() {
    this.granted = await this.mutex.tryAcquire();
    this.until = this.wire.began + this.ttl;
    return this.granted;
  }

  async release() {
    if (this.granted) await this.mutex.release();
    else await this.#abandoned();
    return returned;
  }

  // A mutex whose acquire failed sends no release. One that was acquired elsewhere does.
  #abandoned() {
    return this.make({ ...this.options, identifier: this.mutex.identifier, acquiredExternally: true }).release();
  }

  end() {
    return this.ttl ? this.until : undefined;
  }
}

const lock = (family, make) => ({
  version: version("redis-semaphore"),
  family,
  claims: { bounded: true, renewed: true, waits: true, watched: true },
  options: {
    careful: onOff("off"),
    lease: duration("10s"),
    refresh: duration("0s"), // 0: four fifths of the lease
    "retry-interval": duration("10ms"),
  },
  async open(store, options) {
    const clients = await connect(store, options);
    return {
      attempt: (request, wire, lost) =>
        new Attempt((own) => make(clients, request.keys[0], own), request, options, wire, lost),
    };
  },
});

export default {
  "redis-semaphore": lock("single-store", ([client], key, options) => new Mutex(client, key, options)),
  "redis-semaphore-redlock": lock("majority", (clients, key, options) => new RedlockMutex(clients, key, options)),
};
