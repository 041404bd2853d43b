// The Redis servers by ioredis, and a record of the commands that a library sends to them.
import { AsyncLocalStorage } from "node:async_hooks";
import { performance } from "node:perf_hooks";
import Redis from "ioredis";

// settling is how long a refusal waits for answers that the library did not wait for.
const settling = 1000;

const recording = new AsyncLocalStorage();

// Wire records the commands of one session. A library may swallow errors and drop replies, and a refusal
// is definite only if there was an answer to each command.
export class Wire {
  #call = { pending: 0, failed: undefined };

  // record runs a call. Commands count for the last call that had begun when they were sent.
  record(run) {
    this.#call = { pending: 0, failed: undefined };
    return recording.run(this, run);
  }

  // doubt is why the call's refusal is not definite, if it is not.
  async doubt() {
    const call = this.#call;
    for (const end = performance.now() + settling; call.pending > 0 && performance.now() < end; ) {
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    if (call.failed) return `a server did not answer: ${call.failed.message}`;
    return call.pending > 0 ? `${call.pending} commands have no answer yet` : undefined;
  }

  sent(reply) {
    const call = this.#call;
    call.pending++;
    reply.then(
      () => {
        call.pending--;
      },
      (error) => {
        call.pending--;
        if (!error.message.startsWith("NOSCRIPT")) call.failed = error;
      },
    );
  }
}

// recorded is a client whose commands are recorded for the session whose call sends them.
function recorded(client) {
  return new Proxy(client, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (!["set", "get", "eval", "evalsha", "script"].includes(name)) return value.bind(target);
      return (...args) => {
        const reply = value.apply(target, args);
        recording.getStore()?.sent(reply);
        return reply;
      };
    },
  });
}

// adds node-*, redis-semaphore*, redlock-universal*: clients of ioredis with its defaults, unless careful=on
// With careful, a command has a second for its answer and is not sent again. The rest is the default of
// ioredis, which sends commands again after a lost connection, and has no limit for an answer.
const careful = { autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0, commandTimeout: 1000 };

const hostPort = ({ addr }) => {
  const at = addr.lastIndexOf(":");
  return { host: addr.slice(0, at), port: Number(addr.slice(at + 1)) };
};

// connect returns a client for each server that holds locks of its own, once a majority of them is
// connected. It tries for as long as lockbench lets it.
export async function connect(store, options) {
  const base = options.careful ? careful : {};
  let clients;
  switch (store.topology) {
    case "single":
    case "replicated":
    case "independent":
      clients = store.nodes.map((node) => new Redis({ ...hostPort(node), ...base }));
      break;
    case "sentinel":
      clients = [new Redis({ sentinels: store.sentinels.map(hostPort), name: store.master_name, ...base })];
      break;
    case "cluster":
      clients = [new Redis.Cluster(store.nodes.map(hostPort), { redisOptions: base })];
      break;
    default:
      throw new Error(`no topology ${store.topology}`);
  }
  await new Promise((resolve) => {
    let missing = Math.floor(clients.length / 2) + 1;
    for (const client of clients) {
      client.on("error", (error) => console.error(`ioredis: ${error.message}`));
      client.once("ready", () => --missing === 0 && resolve());
    }
  });
  return clients.map(recorded);
}
