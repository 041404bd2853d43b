#!/usr/bin/env node
// A guest of lockbench: one client of a lock library of npm. guest.mjs LOCK [OPTION=VALUE ...]
import { read } from "./options.mjs";
import { serve } from "./protocol.mjs";
import redlock4 from "./redlock-4.mjs";
import redlock5 from "./redlock-5.mjs";
import redisSemaphore from "./redis-semaphore.mjs";
import redlockUniversal from "./redlock-universal.mjs";

const adapters = { ...redlock4, ...redlock5, ...redisSemaphore, ...redlockUniversal };
const [name, ...words] = process.argv.slice(2);

try {
  if (!Object.hasOwn(adapters, name ?? "")) throw new Error(`no lock ${name}; there are ${Object.keys(adapters).join(", ")}`);
  serve(name, adapters[name], read(name, adapters[name].options, words));
} catch (error) {
  console.error(`guest: ${error.message}`);
  process.exit(64);
}
