import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { open, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import {
  numberFrom,
  optional,
  PATH,
  requireArgument,
  requireFields,
  SIGNAL,
  type WantedFields,
} from "@vd/kernels-native";
import { makeFolder } from "@vd/tensor";
import { delay, throwIfCancelled } from "./cancel";
import { TransientFailure } from "./failures";

/** Waiting times of a lock, and what may end the wait. */
export interface LockOptions {
  pollMs: number;
  /** A lock whose owner gives no sign of life for this long, while somebody waits for it, is taken over. */
  staleMs: number;
  signal: AbortSignal | undefined;
}

const OPTIONS: WantedFields = { pollMs: numberFrom(0), staleMs: numberFrom(0), signal: optional(SIGNAL) };

/** A lock that this process holds. */
export interface HeldLock {
  /** False once another process has taken the lock over. */
  isHeld(): Promise<boolean>;
  /** Throws {@link TransientFailure} if another process has taken the lock over. */
  assertHeld(): Promise<void>;
  release(): Promise<void>;
}

interface Owner {
  id: string;
  pid: number;
  host: string;
  /** When its process began, as the system counts it: tells it from a later one of the same number. Linux only. */
  started?: string | undefined;
}

/** Who has a lock, for a message. */
export interface LockHolder {
  pid: number;
  host: string;
}

function ownerNow(): Owner {
  return { id: randomUUID(), pid: process.pid, host: hostname(), started: startOf(process.pid) };
}

/** What the system says of a process of this machine: its state, a letter, and when it began; undefined where it does not, or there is none. */
function statOf(pid: number): { state: string; started: string | undefined } | undefined {
  try {
    // The program's name, which may have blanks, stands in brackets before the other fields: the state first, the start as the 22nd of all.
    const line = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0]!, started: fields[19] };
  } catch {
    return undefined;
  }
}

/** True for a process that has ended and that its parent has not asked about: where nobody does, as in many containers, it stays listed. */
const isZombie = (pid: number): boolean => ["Z", "X"].includes(statOf(pid)?.state ?? "");

/** When a living process of this machine began; undefined where the system does not say, or there is none. */
const startOf = (pid: number): string | undefined => (isZombie(pid) ? undefined : statOf(pid)?.started);

/**
 * Waits for a lock between processes, also on different machines with a shared folder. The lock is a file that names
 * its owner; the owner touches it as a heartbeat. It is taken over at once if its owner is a dead process of this
 * machine, else if its heartbeat rests for `staleMs` as measured by the waiting process (so no clocks are compared).
 *
 * @throws VdError `cancelled`
 */
export async function acquireLock(path: string, options: LockOptions): Promise<HeldLock> {
  const owner = ownerNow();
  await makeFolder(dirname(path));
  let watched: { sign: string; sinceMs: number } | undefined;
  for (;;) {
    throwIfCancelled(options.signal, path);
    if (await createLock(path, owner)) return holdLock(path, owner, options.staleMs);
    const seen = await readLock(path);
    if (seen === undefined) {
      await delay(1, options.signal, path);
      continue;
    }
    if (watched?.sign !== seen.sign) watched = { sign: seen.sign, sinceMs: performance.now() };
    const rests = performance.now() - watched.sinceMs > options.staleMs;
    if (rests || isDeadProcess(seen.owner)) {
      await removeAbandoned(path, seen.text);
      watched = undefined;
      continue;
    }
    await delay(options.pollMs, options.signal, path);
  }
}

/**
 * Takes a lock, or says who has it, without waiting for them to let go. A lock that a crash has left is taken over: at once if its
 * owner was a process of this machine, else once its heartbeat has rested for `staleMs`.
 *
 * @throws VdError `attr` for what is no path and for options that are none, `cancelled`, `io` for a folder that takes no lock
 */
export async function tryLock(path: string, options: LockOptions): Promise<HeldLock | { holder: LockHolder }> {
  requireArgument("tryLock", path, PATH);
  requireFields("tryLock", options, OPTIONS);
  const owner = ownerNow();
  const startMs = performance.now();
  let first: string | undefined;
  for (;;) {
    throwIfCancelled(options.signal, path);
    if (await createLock(path, owner)) return holdLock(path, owner, options.staleMs);
    const seen = await readLock(path);
    if (seen === undefined) {
      await delay(1, options.signal, path);
      continue;
    }
    first ??= seen.sign;
    const isAlive = seen.owner !== undefined && (isSameProcess(seen.owner) || seen.sign !== first);
    if (seen.owner && isAlive) return { holder: { pid: seen.owner.pid, host: seen.owner.host } };
    const rests = performance.now() - startMs > options.staleMs;
    if (rests || isDeadProcess(seen.owner)) await removeAbandoned(path, seen.text);
    else await delay(options.pollMs, options.signal, path);
  }
}

/** True if the owner is certainly a living process of this machine. */
function isSameProcess({ host, pid, started }: Owner): boolean {
  return host === hostname() && started !== undefined && started === startOf(pid);
}

async function createLock(path: string, owner: Owner): Promise<boolean> {
  try {
    const file = await open(path, "wx");
    try {
      await file.writeFile(JSON.stringify(owner));
    } finally {
      await file.close();
    }
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST" || isBeingDeleted(error)) return false;
    throw error;
  }
}

/** Windows refuses a file that another process is deleting. */
function isBeingDeleted(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? "";
  return process.platform === "win32" && ["EPERM", "EBUSY", "EACCES"].includes(code);
}

/** What is known of a lock file; `sign` changes with every heartbeat. Undefined if it is gone. */
async function readLock(path: string): Promise<{ text: string; sign: string; owner: Owner | undefined } | undefined> {
  try {
    const [text, { mtimeMs }] = [await readFile(path, "utf8"), await stat(path)];
    return { text, sign: `${mtimeMs} ${text}`, owner: parseOwner(text) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT" || isBeingDeleted(error)) return undefined;
    throw error;
  }
}

/** Undefined for a file that its owner has created but not written yet. */
function parseOwner(text: string): Owner | undefined {
  try {
    const { id, pid, host, started } = JSON.parse(text) as Partial<Owner>;
    return typeof id === "string" && typeof pid === "number" && typeof host === "string"
      ? { id, pid, host, started }
      : undefined;
  } catch {
    return undefined;
  }
}

function isDeadProcess(owner: Owner | undefined): boolean {
  if (owner === undefined || owner.host !== hostname()) return false;
  if (isZombie(owner.pid)) return true;
  // Systems give numbers of processes again, and containers begin to count anew.
  const started = startOf(owner.pid);
  if (owner.started !== undefined && started !== undefined && started !== owner.started) return true;
  try {
    process.kill(owner.pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}

/** Moves an abandoned lock away. If another process was faster, what has been moved is its new lock: it goes back. */
async function removeAbandoned(path: string, expectedText: string): Promise<void> {
  const moved = `${path}.${randomUUID().slice(0, 8)}`;
  try {
    await rename(path, moved);
  } catch {
    return;
  }
  const isExpected = (await readFile(moved, "utf8").catch(() => "")) === expectedText;
  if (isExpected) await rm(moved, { force: true });
  else await rename(moved, path).catch(() => {});
}

function holdLock(path: string, owner: Owner, staleMs: number): HeldLock {
  const touch = () => utimes(path, new Date(), new Date()).catch(() => {});
  const heartbeat = setInterval(touch, Math.max(10, staleMs / 6));
  heartbeat.unref();
  const isHeld = async () => parseOwner((await readLock(path).catch(() => undefined))?.text ?? "")?.id === owner.id;
  return {
    isHeld,
    async assertHeld() {
      if (!(await isHeld())) throw new TransientFailure("another process took the download over");
    },
    async release() {
      clearInterval(heartbeat);
      if (await isHeld()) await rm(path, { force: true });
    },
  };
}
