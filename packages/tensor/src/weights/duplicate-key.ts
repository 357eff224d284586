import type { Pausable } from "../pausable";

/** Keys between two pauses. */
const PIECE = 64;

/**
 * The first key that an object of this JSON text holds twice, or undefined. `JSON.parse` keeps the last of two equal
 * keys in silence, so one tensor could hide another. Requires text that `JSON.parse` has accepted.
 * Pauses after some keys.
 */
export function* findDuplicateKey(json: string): Pausable<string | undefined> {
  const keysOfOpenObjects: Set<string>[] = [];
  let position = 0;
  let numKeys = 0;
  while (position < json.length) {
    const character = json[position];
    if (character === "{") keysOfOpenObjects.push(new Set());
    else if (character === "}") keysOfOpenObjects.pop();
    else if (character === '"') {
      const end = endOfString(json, position);
      const next = skipSpace(json, end);
      if (json[next] === ":") {
        const key = JSON.parse(json.slice(position, end)) as string;
        const keys = keysOfOpenObjects.at(-1);
        if (keys?.has(key)) return key;
        keys?.add(key);
        if (++numKeys % PIECE === 0) yield;
      }
      position = next;
      continue;
    }
    position++;
  }
  return undefined;
}

/** The index after the closing quote of the string that opens at `start`. */
function endOfString(json: string, start: number): number {
  let position = start + 1;
  while (position < json.length && json[position] !== '"') position += json[position] === "\\" ? 2 : 1;
  return position + 1;
}

function skipSpace(json: string, start: number): number {
  let position = start;
  while (position < json.length && " \t\n\r".includes(json[position]!)) position++;
  return position;
}
