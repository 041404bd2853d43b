// A client takes a lock of 500 ms. A proxy delays its second request by 1 s, as a slow connection or a pause of the client does.
import net from "node:net";
import { createClient } from "redis";
import { tryLock } from "simple-redis-mutex";

const port = Number(process.argv[2]);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const proxy = net.createServer((client) => {
  const server = net.connect(port, "127.0.0.1");
  server.pipe(client);
  client.on("data", async (request) => {
    if (request.includes("INCR")) await sleep(1000);
    server.write(request);
  });
  client.on("error", () => server.destroy());
});
await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
const connect = (to) => createClient({ socket: { host: "127.0.0.1", port: to } }).connect();
const slow = await connect(proxy.address().port);
const other = await connect(port);

const began = Date.now();
const first = tryLock(slow, "job", { timeout: 500 });
await sleep(700);
const [granted, ofOther] = await tryLock(other, "job", { timeout: 60000 });
if (!granted) end("could not try: the lock of 500 ms did not expire");
console.log(`after ${Date.now() - began} ms another client holds the lock, with token ${ofOther.fencingToken}`);

const [stale, ofStale] = await first;
console.log(`after ${Date.now() - began} ms tryLock of the first client returns ${stale}, with token ${ofStale.fencingToken}`);
if (!stale) end("gone: the first client was not granted the lock after its lease was over");
if (ofStale.fencingToken > ofOther.fencingToken) {
  end("exists: the resource accepts the stale holder, whose token is larger, and refuses the client that holds the lock");
}
end("gone: the token of the stale holder is the smaller one");

function end(line) {
  console.log(line);
  process.exit();
}
