import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VdError } from "@vd/kernels-native";

/** Bytes of a file with this header text (an object is stringified) and data, whatever nonsense they are. */
export function fileBytes(header: unknown, data: Uint8Array | number = 0, headerLength?: bigint): Uint8Array {
  const text = typeof header === "string" ? header : JSON.stringify(header);
  const json = new TextEncoder().encode(text);
  const rest = typeof data === "number" ? Uint8Array.from({ length: data }, (_, i) => i * 7) : data;
  const bytes = new Uint8Array(8 + json.length + rest.length);
  new DataView(bytes.buffer).setBigUint64(0, headerLength ?? BigInt(json.length), true);
  bytes.set(json, 8);
  bytes.set(rest, 8 + json.length);
  return bytes;
}

/** A folder of its own for one test file. */
export class Folder {
  readonly path = mkdtempSync(join(tmpdir(), "vd-weights-"));

  at(name: string): string {
    return join(this.path, name);
  }

  write(name: string, bytes: Uint8Array | string): string {
    writeFileSync(this.at(name), bytes);
    return this.at(name);
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** The VdError that `action` throws; anything else fails the test. */
export function vdErrorOf(action: () => unknown): VdError {
  try {
    action();
  } catch (error) {
    if (error instanceof VdError) return error;
    throw error;
  }
  throw new Error("expected a VdError, but nothing was thrown");
}

/** Runs `action` and returns the largest byte array that it allocated. */
export function largestAllocation(action: () => void): number {
  let largest = 0;
  const originals = { Uint8Array: globalThis.Uint8Array, alloc: Buffer.alloc, allocUnsafe: Buffer.allocUnsafe };
  const note = (size: unknown) => {
    if (typeof size === "number") largest = Math.max(largest, size);
  };
  globalThis.Uint8Array = new Proxy(originals.Uint8Array, {
    construct(target, args, newTarget) {
      note(args[0]);
      return Reflect.construct(target, args, newTarget);
    },
  });
  Buffer.alloc = ((size: number, ...rest: []) => {
    note(size);
    return originals.alloc(size, ...rest);
  }) as typeof Buffer.alloc;
  Buffer.allocUnsafe = (size) => {
    note(size);
    return originals.allocUnsafe(size);
  };
  try {
    action();
  } finally {
    globalThis.Uint8Array = originals.Uint8Array;
    Buffer.alloc = originals.alloc;
    Buffer.allocUnsafe = originals.allocUnsafe;
  }
  return largest;
}
