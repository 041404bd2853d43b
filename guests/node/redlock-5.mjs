// redlock 5: https://github.com/mike-marcacci/node-redlock/blob/v5.0.0-beta.2/README.md
import { performance } from "node:perf_hooks";
import Redlock, { ExecutionError } from "redlock-5";
import { count, duration, oneOf, onOff, share, version } from "./options.mjs";
import { connect } from "./servers.mjs";

// adds node-redlock-5: the library waits by a number of retries, so a wait is as many as fit in it
const acquiring = (redlock, wait) => ({ retryCount: Math.ceil(wait / redlock.settings.retryDelay) });

// Leased is a lock that acquire returns.
class Leased {
  constructor(redlock, { keys, ttl, wait }) {
    Object.assign(this, { redlock, keys, ttl, wait });
  }

  async acquire() {
    this.lock = await this.redlock.acquire(this.keys, this.ttl, acquiring(this.redlock, this.wait)).catch(refused);
    return this.lock !== undefined;
  }

  async renew(ttl) {
    const extended = await this.lock.extend(ttl).catch(refused);
    if (extended) this.lock = extended;
    return extended !== undefined;
  }

  async release() {
    if (!this.lock) throw new Error("the library returned no lock that could be released");
    return (await this.lock.release().catch(refused)) !== undefined;
  }

  end() {
    const now = performance.now(); // first: a pause in between must not lengthen the lease
    return now + (this.lock.expiration - Date.now());
  }
}

// Extended is a lock that using holds and extends for as long as its routine runs.
class Extended {
  constructor(redlock, { keys, ttl, wait }, lease, lost) {
    const renewed = ttl || lease;
    const period = Math.max(0, renewed - redlock.settings.automaticExtensionThreshold);
    Object.assign(this, { redlock, keys, wait, renewed, period, lost });
  }

  async acquire() {
    return new Promise((resolve, reject) => {
      this.ended = this.redlock.using(this.keys, this.renewed, acquiring(this.redlock, this.wait), (signal) => {
        signal.addEventListener("abort", this.lost);
        resolve(true);
        return new Promise((finish) => (this.finish = finish));
      });
      this.ended.catch((error) => (error instanceof ExecutionError ? resolve(false) : reject(error)));
    });
  }

  async release() {
    if (!this.finish) throw new Error("the library returned no lock that could be released");
    this.finish();
    return this.ended.then(() => true, refused);
  }
}

function refused(error) {
  if (!(error instanceof ExecutionError)) throw error;
}

export default {
  "node-redlock-5": {
    version: version("redlock-5"),
    family: "majority",
    claims: ({ call }) => ({ bounded: call === "acquire", renewed: true, several: true, waits: true, watched: true }),
    options: {
      call: oneOf("acquire", "using"), // acquire has no form without a ttl
      careful: onOff("off"),
      "drift-factor": share("0.01"),
      "retry-count": count("10"),
      "retry-delay": duration("200ms"),
      "retry-jitter": duration("100ms"),
      "extension-threshold": duration("500ms"),
      lease: duration("5s"),
    },
    async open(store, options) {
      const redlock = new Redlock(await connect(store, options), {
        driftFactor: options["drift-factor"],
        retryCount: options["retry-count"],
        retryDelay: options["retry-delay"],
        retryJitter: options["retry-jitter"],
        automaticExtensionThreshold: options["extension-threshold"],
      });
      return {
        attempt: (request, lost) =>
          request.ttl && options.call === "acquire" ? new Leased(redlock, request) : new Extended(redlock, request, options.lease, lost),
      };
    },
  },
};
