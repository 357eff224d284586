import { InvalidArgumentError } from "commander";

/** A whole number from 1. */
export function count(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1) return value;
  throw new InvalidArgumentError("a whole number from 1 is expected.");
}

/** WIDTHxHEIGHT in pixels. */
export function size(text: string): { width: number; height: number } {
  const match = /^(\d+)x(\d+)$/.exec(text);
  if (match) return { width: Number(match[1]), height: Number(match[2]) };
  throw new InvalidArgumentError("WIDTHxHEIGHT is expected, e.g. 1024x576.");
}

/** Names out of `known`, separated by commas; `all` for all of them. */
export const names =
  <T extends string>(known: readonly T[]) =>
  (text: string): T[] => {
    if (text === "all") return [...known];
    const list = text.split(",").map((name) => name.trim());
    const wrong = list.find((name) => !known.includes(name as T));
    if (wrong === undefined) return list as T[];
    throw new InvalidArgumentError(`${JSON.stringify(wrong)} is none of ${known.join(", ")}.`);
  };

/** Free sizes, e.g. `batch=1,frames=14,height=40,width=64`. */
export function sizes(text: string): Record<string, number> {
  const entries = text.split(",").map((part) => {
    const match = /^([a-z]+)=(\d+)$/.exec(part.trim());
    if (!match) throw new InvalidArgumentError("NAME=NUMBER,… is expected, e.g. batch=2,frames=14.");
    return [match[1]!, Number(match[2])] as const;
  });
  return Object.fromEntries(entries);
}

/** Bytes as people read them. */
export function bytes(value: number): string {
  if (value < 2 ** 20) return `${(value / 2 ** 10).toFixed(0)} KiB`;
  return value < 2 ** 30 ? `${(value / 2 ** 20).toFixed(1)} MiB` : `${(value / 2 ** 30).toFixed(2)} GiB`;
}
