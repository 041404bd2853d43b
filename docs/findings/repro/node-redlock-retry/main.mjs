// A client waits for a lock. Another client holds it on two of three servers, and releases one of the two after the first try.
import Redis from "ioredis";
import Redlock from "redlock";

const ports = process.argv.slice(2);
const servers = ports.map((port) => new Redis({ port }));
await servers[0].set("job", "other", "PX", 60000);
await servers[1].set("job", "other", "PX", 60000);

const redlock = new Redlock(servers, { retryCount: 20, retryDelay: 100, retryJitter: 0 });
let result;
redlock.acquire(["job"], 30000).then(
  () => (result = "granted"),
  () => (result = "refused"),
);
let free = false;
let own = 0;
while (result === undefined) {
  const values = await Promise.all(servers.map((server) => server.get("job")));
  own = Math.max(own, values.filter((value) => value !== null && value !== "other").length);
  if (own > 0 && !free) {
    free = true;
    await servers[0].del("job");
    console.log("the first try is refused; the other client releases one of its two servers");
  }
}
console.log(`the waiting client had its key on ${own} of 3 servers, and acquire is ${result}`);
if (result === "granted") console.log("gone: the lock was granted when a majority of servers was free");
else if (own > 1) console.log("exists: no other client holds a majority of servers, and the client is refused by its own keys");
else console.log("could not try: acquire was refused, but not by its own keys");
process.exit();
