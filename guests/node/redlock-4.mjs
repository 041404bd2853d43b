// redlock 4: https://github.com/mike-marcacci/node-redlock/blob/v4.2.0/README.md
import { performance } from "node:perf_hooks";
import Redlock from "redlock-4";
import { duration, onOff, share, version } from "./options.mjs";
import { connect } from "./servers.mjs";

class Attempt {
  // adds node-redlock-4: the library waits by a number of retries, so a wait is as many as fit in it
  constructor(clients, options, { keys, ttl, wait }) {
    this.keys = keys;
    this.ttl = ttl;
    this.redlock = new Redlock(clients, { ...options, retryCount: Math.ceil(wait / options.retryDelay) });
  }

  async acquire() {
    this.lock = await this.redlock.lock(this.keys, this.ttl).catch(refused);
    return this.lock !== undefined;
  }

  async renew(ttl) {
    return (await this.lock.extend(ttl).catch(refused)) !== undefined;
  }

  async release() {
    if (!this.lock) throw new Error("the library returned no lock that could be released");
    return this.lock.unlock().then(() => true, refused);
  }

  end() {
    const now = performance.now(); // first: a pause in between must not lengthen the lease
    return now + (this.lock.expiration - Date.now());
  }
}

function refused(error) {
  if (!(error instanceof Redlock.LockError)) throw error;
}

export default {
  "node-redlock-4": {
    version: version("redlock-4"),
    family: "majority",
    claims: () => ({ bounded: true, several: true, waits: true }),
    options: {
      careful: onOff("off"),
      "drift-factor": share("0.01"),
      "retry-delay": duration("200ms"),
      "retry-jitter": duration("100ms"),
    },
    async open(store, options) {
      const clients = await connect(store, options);
      const settings = {
        driftFactor: options["drift-factor"], retryDelay: options["retry-delay"], retryJitter: options["retry-jitter"],
      };
      return { attempt: (request) => new Attempt(clients, settings, request) };
    },
  },
};
