// The guest's side of lockbench-guest/1, which docs/guest-protocol.md describes, for the adapters of
// this folder.
//
// An adapter opens a lock, whose attempt(request, lost) returns an attempt:
//   acquire(), release()   resolve to true if it happened, false if the library says no, and throw otherwise;
//                          release resolves to returned if the library does not tell
//   renew(ttl)             the same; absent: unsupported
//   end()                  when the lease ends, as the library reports it, on performance.now(); absent: it reports none
//   renewed                the length of the lease in ms if the library renews it; else undefined
//   period                 the time between two renewals
// The wire says whether a "no" is definite: each command that the call sent has been answered.
import { performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { Wire } from "./servers.mjs";

// Unsupported and BadRequest are definite: nothing was done.
export class Unsupported extends Error {}
export class BadRequest extends Error {}

// returned is the result of a release whose library does not tell whether the lock was held.
export const returned = "returned";

const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");
const ns = (ms) => Math.floor(ms * 1e6);
const ms = (ns) => Math.ceil((ns ?? 0) / 1e6);

// Session is one attempt to get a lock, and what is done later with what it got.
class Session {
  wire = new Wire();
  turn = Promise.resolve(); // ends when no call of the session is under way
  granted = false;
  releasing = false;
  lost = false;

  constructor(name) {
    this.name = name;
  }

  // lease answers an acquire or a renewal. The client counts a lease whose end the library does not report from the answer.
  lease(ttl, read) {
    const { renewed, period, end } = this.attempt;
    if (renewed !== undefined) return { ok: true, renewed: true, lease_ns: ns(renewed), period_ns: ns(period) };
    if (end) return { ok: true, until_ns: ns(this.attempt.end() - read) };
    this.counted = performance.now() + ttl;
    return { ok: true };
  }

  // over tells whether the lease has ended as far as the client knows.
  over() {
    const { renewed, end } = this.attempt;
    return renewed === undefined && performance.now() >= (end ? this.attempt.end() : this.counted);
  }

  // call runs one call of the library after the session's calls before it, and records its commands.
  call(run) {
    const result = this.turn.then(() => this.wire.record(run));
    this.turn = result.catch(() => {});
    return result;
  }

  // adds node-*, redis-semaphore*, redlock-universal*: a refusal is unknown if a command of the call was not answered
  // no answers a refusal: the word if it is definite.
  async no(word) {
    const doubt = await this.wire.doubt();
    return doubt ? { unknown: doubt } : { fail: word };
  }

  // tell sends the notice of a loss, once, after the acquire was answered and before a release begins.
  tell() {
    this.lost = true;
    if (this.granted && !this.releasing && !this.told) {
      this.told = true;
      say({ notice: "lost", session: this.name });
    }
  }
}

function parse(r, capabilities) {
  const keys = r.keys ?? (r.key === undefined ? [] : [r.key]);
  if (keys.length === 0 || keys.some((key) => key === "")) throw new BadRequest("a lock has a name");
  if ((r.ttl_ns ?? 0) < 0 || (r.wait_ns ?? 0) < 0) throw new BadRequest("a time is not negative");
  if (keys.length > 1 && !capabilities.several) throw new Unsupported("it takes one key");
  if ((r.mode ?? "exclusive") !== "exclusive" || r.owner) throw new Unsupported("it is neither shared nor re-entrant");
  if (!r.ttl_ns && !capabilities.renewed) throw new Unsupported("it renews no lease, and needs a ttl");
  return { keys, ttl: ms(r.ttl_ns), wait: ms(r.wait_ns) };
}

// serve speaks the protocol until standard input ends.
export function serve(name, adapter, options) {
  const sessions = new Map();
  const claims = adapter.claims(options);
  let lock;

  const operations = {
    async open(r) {
      lock = await adapter.open(r.store, options);
      return { ok: true };
    },

    async acquire(r, read) {
      const request = parse(r, claims);
      const session = new Session(r.session);
      sessions.set(r.session, session);
      session.attempt = lock.attempt(request, () => session.tell());
      if (!(await session.call(() => session.attempt.acquire()))) {
        const answer = await session.no("taken");
        if (answer.fail) sessions.delete(r.session);
        return answer;
      }
      session.granted = true;
      if (session.lost) setImmediate(() => session.tell()); // after the answer
      return session.lease(request.ttl, read);
    },

    async check(r) {
      const session = sessions.get(r.session);
      return session?.granted && !session.lost && !session.over() ? { ok: true } : { fail: "lost" };
    },

    async renew(r, read) {
      const session = sessions.get(r.session);
      if (!session) return { fail: "not-held" };
      if (!session.attempt.renew || session.attempt.renewed !== undefined) throw new Unsupported("the library renews it");
      if (!(await session.call(() => session.attempt.renew(ms(r.ttl_ns))))) return session.no("not-held");
      return session.lease(ms(r.ttl_ns), read);
    },

    // adds node-*, redis-semaphore*, redlock-universal*: no second release, because the guest forgets the lock
    async release(r) {
      const session = sessions.get(r.session);
      if (!session) return { fail: "not-held" };
      session.releasing = true;
      const released = await session.call(() => session.attempt.release());
      let answer = { done: true };
      if (released !== returned) answer = released ? { ok: true } : await session.no("not-held");
      if (!answer.unknown) sessions.delete(r.session);
      return answer;
    },

    async touch() {
      return { ok: true }; // it does not look again
    },

    async close() {
      return { ok: true };
    },
  };

  async function handle(r, read) {
    let answer;
    try {
      answer = await (operations[r.op]?.(r, read) ?? { fail: "bad-request", text: `no operation ${r.op}` });
    } catch (e) {
      if (e instanceof Unsupported) answer = { fail: "unsupported", text: e.message };
      else if (e instanceof BadRequest) answer = { fail: "bad-request", text: e.message };
      else answer = { unknown: `${e?.name}: ${e?.message}` };
    }
    say({ id: r.id, ...answer });
    if (r.op === "close") process.exit(0);
  }

  say({
    hello: "lockbench-guest/1", name, version: adapter.version, family: adapter.family, claims, model: ["mutex"],
  });
  createInterface({ input: process.stdin })
    .on("line", (line) => {
      const read = performance.now(); // before anything else: until_ns counts from here
      handle(JSON.parse(line), read);
    })
    .on("close", () => process.exit(0));
}
