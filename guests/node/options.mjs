// Options of locks, which users give as name=value.
import { readFileSync } from "node:fs";

const { dependencies } = JSON.parse(readFileSync(new URL("package.json", import.meta.url)));

// version is that of a library and of the client under it.
export const version = (name) => `${dependencies[name].replace(/^npm:/, "")} on ioredis ${dependencies.ioredis}`;

const units = { ms: 1, s: 1000, m: 60_000 };

// duration is a whole number of ms, written as 200ms or 5s.
export const duration = (standard) => ({
  standard,
  parse(text) {
    const [, number, unit] = /^([0-9]+)(ms|s|m)$/.exec(text) ?? [];
    return unit && Number(number) * units[unit];
  },
  want: "a duration such as 200ms or 5s",
});

export const count = (standard) => ({
  standard, parse: (text) => (/^[0-9]+$/.test(text) ? Number(text) : undefined), want: "a whole number",
});

export const share = (standard) => ({
  standard, parse: (text) => (/^0(\.[0-9]+)?$/.test(text) ? Number(text) : undefined), want: "a share such as 0.01",
});

export const onOff = (standard) => ({
  standard, parse: (text) => ({ on: true, off: false })[text], want: "on or off",
});

// oneOf is one of some words, of which the first one is the default.
export const oneOf = (...words) => ({
  standard: words[0], parse: (text) => (words.includes(text) ? text : undefined), want: words.join(" or "),
});

// read returns the values of a lock's options, of which words gives some.
export function read(lock, options, words) {
  const given = Object.fromEntries(words.map((word) => [word.split("=", 1)[0], word.slice(word.indexOf("=") + 1)]));
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(options, name)) throw new Error(`${lock} has no option ${name}; it has ${Object.keys(options).join(", ")}`);
  }
  return Object.fromEntries(
    Object.entries(options).map(([name, option]) => {
      const text = given[name] ?? option.standard;
      const value = option.parse(text);
      if (value === undefined) throw new Error(`option ${name} of ${lock}: ${JSON.stringify(text)} is not ${option.want}`);
      return [name, value];
    }),
  );
}
