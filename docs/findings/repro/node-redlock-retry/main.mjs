// A client waits for a lock. Another client holds it on two of three servers, and releases one of the two after 250 ms.
import Redis from "ioredis";
import Redlock from "redlock";

const ports = process.argv.slice(2);
const servers = ports.map((port) => new Redis({ port }));
await servers[0].set("job", "other", "PX", 60000);
await servers[1].set("job", "other", "PX", 60000);
setTimeout(() => servers[0].del("job"), 250);

const redlock = new Redlock(servers, { retryCount: 20, retryDelay: 100, retryJitter: 0 });
const began = Date.now();
const result = redlock.acquire(["job"], 30000).then(() => "granted", () => "refused");
let own = 0;
setTimeout(async () => {
  const values = await Promise.all(servers.map((server) => server.get("job")));
  own = values.filter((value) => value !== null && value !== "other").length;
  console.log(`after 1 s, the waiting client has the key on ${own} servers, the other client on 1`);
}, 1000);

console.log(`acquire is ${await result} after ${Date.now() - began} ms`);
if ((await result) === "granted") console.log("gone: the lock was granted when a majority of servers was free");
else if (own > 0) console.log("exists: no other client holds a majority of servers, and the client is refused by its own keys");
else console.log("could not try: acquire was refused, but not by its own keys");
process.exit();
