// A holder is cut off from the server, by a proxy that forwards nothing. Its lock lasts 4 s and is extended after 2 s.
import net from "node:net";
import Redis from "ioredis";
import Redlock from "redlock";

const port = Number(process.argv[2]);
const pairs = [];
const proxy = net.createServer((client) => {
  const server = net.connect(port, "127.0.0.1");
  client.pipe(server).pipe(client);
  pairs.push([client, server]);
});
await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
const cut = () => pairs.flat().forEach((socket) => socket.unpipe());

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const holder = new Redlock([new Redis({ port: proxy.address().port })]);
const other = new Redlock([new Redis({ port })], { retryCount: 0 });

holder.on("error", () => {});
holder.using(["job"], 4000, { automaticExtensionThreshold: 2000 }, async (signal) => {
  const began = Date.now();
  await other.acquire(["job"], 1000).then(
    () => end("could not try: the lock was granted twice before the cut"),
    () => console.log("the holder has the lock, and another client is refused"),
  );
  cut();
  while (Date.now() - began < 15000) {
    await sleep(50);
    if (signal.aborted) end(`gone: signal was aborted ${Date.now() - began} ms after the grant of a lock of 4,000 ms`);
    const lock = await other.acquire(["job"], 10000).catch(() => null);
    if (lock === null) continue;
    console.log(`another client is granted the lock ${Date.now() - began} ms after the first grant`);
    await sleep(1500);
    if (signal.aborted) end("gone: signal was aborted in the next 1.5 s");
    end("exists: two clients hold the lock, and the signal of the first is not aborted 1.5 s after its lock expired");
  }
  end("could not try: the lock did not expire");
});

function end(line) {
  console.log(line);
  process.exit();
}
