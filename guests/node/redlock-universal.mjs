// redlock-universal: https://github.com/alexpota/redlock-universal/blob/main/README.md
import { createLock, createRedlock, IoredisAdapter, LockAcquisitionError } from "redlock-universal";
import { duration, oneOf, onOff, version } from "./options.mjs";
import { returned } from "./protocol.mjs";
import { connect } from "./servers.mjs";

const nothing = () => new Error("the library returned no handle that could be released");

// Leased is a lock that acquire returns. Its handle has the time of the grant and no end.
class Leased {
  constructor(lock) {
    this.lock = lock;
  }

  async acquire() {
    this.handle = await this.lock.acquire().catch(refused);
    return this.handle !== undefined;
  }

  renew(ttl) {
    return this.lock.extend(this.handle, ttl);
  }

  async release() {
    if (!this.handle) throw nothing();
    return this.lock.release(this.handle);
  }
}

// Extended is a lock that using holds and extends for as long as its routine runs.
class Extended {
  constructor(lock, lease, lost) {
    Object.assign(this, { lock, renewed: lease, period: 0.8 * lease, lost });
  }

  async acquire() {
    return new Promise((resolve, reject) => {
      this.ended = this.lock.using((signal) => {
        signal.addEventListener("abort", this.lost);
        resolve(true);
        return new Promise((finish) => (this.finish = finish));
      });
      this.ended.catch((error) => (error instanceof LockAcquisitionError ? resolve(false) : reject(error)));
    });
  }

  async release() {
    if (!this.finish) throw nothing();
    this.finish();
    await this.ended;
    return returned;
  }
}

function refused(error) {
  if (!(error instanceof LockAcquisitionError)) throw error;
}

const lock = (family, create, retryDelay) => ({
  version: version("redlock-universal"),
  family,
  claims: ({ call }) => ({ bounded: call === "acquire", renewed: true, waits: true, watched: true }),
  options: { call: oneOf("acquire", "using"), careful: onOff("off"), lease: duration("30s"), "retry-delay": duration(retryDelay) },
  async open(store, options) {
    const adapters = (await connect(store, options)).map((client) => new IoredisAdapter(client));
    const locks = new Map(); // a lock is of one key, and is used again
    function of(key, ttl, wait) {
      const id = JSON.stringify([key, ttl, wait]);
      if (!locks.has(id)) {
        // adds redlock-universal*: the library waits by a number of retries, so a wait is as many as fit in it
        const retryAttempts = Math.ceil(wait / options["retry-delay"]);
        locks.set(id, create(adapters, { key, ttl, retryAttempts, retryDelay: options["retry-delay"] }));
      }
      return locks.get(id);
    }
    return {
      attempt({ keys: [key], ttl, wait }, lost) {
        const lease = ttl || options.lease;
        const lock = of(key, lease, wait);
        return ttl && options.call === "acquire" ? new Leased(lock) : new Extended(lock, lease, lost);
      },
    };
  },
});

export default {
  "redlock-universal": lock("single-store", ([adapter], own) => createLock({ adapter, ...own }), "100ms"),
  "redlock-universal-redlock": lock("majority", (adapters, own) => createRedlock({ adapters, ...own }), "200ms"),
};
