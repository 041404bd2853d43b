// redis-semaphore: https://github.com/swarthy/redis-semaphore/blob/master/README.md
import { Mutex, RedlockMutex } from "redis-semaphore";
import { duration, onOff, version } from "./options.mjs";
import { connect } from "./servers.mjs";

class Attempt {
  constructor(make, majority, { ttl, wait }, options, wire, lost) {
    Object.assign(this, { make, majority, ttl, wire, lease: options.lease });
    this.options = {
      lockTimeout: ttl || options.lease,
      refreshInterval: ttl ? 0 : options.refresh || undefined,
      retryInterval: options["retry-interval"],
      onLockLost: () => {
        this.doubt = wire.doubt();
        lost();
      },
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

  // release sees what the servers answered, which the library drops.
  async release() {
    if (this.granted) await this.mutex.release();
    else await this.#abandoned();
    if (this.wire.ones >= this.majority) return true;
    if (this.wire.silent && (await this.doubt)) throw new Error("the library gave the lock up, and sends no release");
    return false;
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
    const majority = Math.floor(clients.length / 2) + 1;
    return {
      attempt: (request, wire, lost) =>
        new Attempt((own) => make(clients, request.keys[0], own), majority, request, options, wire, lost),
    };
  },
});

export default {
  "redis-semaphore": lock("single-store", ([client], key, options) => new Mutex(client, key, options)),
  "redis-semaphore-redlock": lock("majority", (clients, key, options) => new RedlockMutex(clients, key, options)),
};
