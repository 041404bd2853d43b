// The protocol part of the guest, which docs/guest-protocol.md describes. It serves one request after the other.
import { performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { open, version } from "./lock.mjs";

const sessions = new Map(); // name -> attempt
let lock;

const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");
const leased = (attempt, read) => ({ ok: true, until_ns: Math.floor((attempt.end - read) * 1e6) });
const millis = (request) => Math.floor((request.ttl_ns ?? 0) / 1e6);

const operations = {
  async open(request) {
    lock = await open(request.store);
    return lock ? { ok: true } : { fail: "unsupported", text: "it needs one master" };
  },

  async acquire(request, read) {
    const plain = request.key !== undefined && !request.owner && !request.wait_ns && request.mode !== "shared";
    if (!plain || millis(request) < 1) {
      return { fail: "unsupported", text: "it takes one key, tries once, and needs a TTL of at least 1 ms" };
    }
    const attempt = lock.attempt(request.key);
    sessions.set(request.session, attempt); // before the request, so that a release cleans up after an unknown outcome
    if (await attempt.acquire(millis(request))) return leased(attempt, read);
    sessions.delete(request.session);
    return { fail: "taken" };
  },

  async check(request) {
    const attempt = sessions.get(request.session);
    return attempt && performance.now() < attempt.end ? { ok: true } : { fail: "lost" };
  },

  async renew(request, read) {
    const attempt = sessions.get(request.session);
    return (await attempt?.renew(millis(request))) ? leased(attempt, read) : { fail: "not-held" };
  },

  // The session is kept, because a release with an unknown outcome is sent again.
  async release(request) {
    return (await sessions.get(request.session)?.release()) ? { ok: true } : { fail: "not-held" };
  },

  touch: async () => ({ ok: true }), // does not check again
  close: async () => ({ ok: true }),
};

say({ hello: "lockbench-guest/1", name: "mylock", version, family: "single-store", claims: { bounded: true } });
for await (const line of createInterface({ input: process.stdin })) {
  const read = performance.now(); // until_ns counts from here
  const request = JSON.parse(line);
  let answer;
  try {
    answer = await (operations[request.op]?.(request, read) ?? { fail: "bad-request" });
  } catch (error) {
    answer = { unknown: String(error) }; // no answer, or an error in its place: the request may have been executed
  }
  say({ id: request.id, ...answer });
  if (request.op === "close") break;
}
process.exit(0); // connections of the client library are left
