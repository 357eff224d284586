import { createHash } from "node:crypto";
import { readdir, readFile, rm, rmdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type HeldLock, tryLock } from "@vd/hub";
import { isVdError, PATH, requireArgument, VdError } from "@vd/kernels-native";
import { fileError, makeFolder, syncFolder, systemCode, writeWholeFile } from "@vd/tensor";
import { differences, type Facts, factsDigest } from "./facts";
import { damageOf, readRecord, type StateRecord, writeRecord } from "./record";

/** What a state says of itself, in `state.json`. */
export interface StateHead {
  /** Of the files' layout. */
  format: number;
  facts: Facts;
}

const FORMAT = 1;
const HEAD = "state.json";
const LOCK = "lock";
const ENDING = ".safetensors";
/** The text of a record that says which generation it belongs to. */
const RUN = "run";
/** What a killed process leaves: temporary files, and a lock that was being taken over. */
const LEFTOVER = /^\.(state\.json|[a-z]+-?\d*\.safetensors)\.[0-9a-f]{8}\.tmp$|^lock\.[0-9a-f]{8}$/;
const RECORD = /^(picture|latents|maps|step-\d+|clip-\d+|frames-\d+)\.safetensors$/;
const LOCK_OPTIONS = { pollMs: 100, staleMs: 10_000 };

/** Says something of a state to whoever started the generation. */
export type StateListener = (message: string) => void;

const checksumOf = (head: StateHead) => createHash("sha256").update(JSON.stringify(head)).digest("hex");

/** The head in a folder: undefined where there is none, `damaged` for one that is not what was written. */
async function readHead(dir: string): Promise<StateHead | "damaged" | undefined> {
  const text = await readFile(join(dir, HEAD), "utf8").catch((error: unknown) => {
    if (systemCode(error) === "ENOENT") return undefined;
    throw fileError(join(dir, HEAD), "a state that can be read", error);
  });
  if (text === undefined) return undefined;
  try {
    const { sha256, ...head } = JSON.parse(text) as StateHead & { sha256: string };
    return sha256 === checksumOf(head) && head.format === FORMAT ? head : "damaged";
  } catch {
    return "damaged";
  }
}

/**
 * Reads what the state in a folder says of itself, without taking it.
 *
 * @throws VdError `io` for one that cannot be read
 */
export async function readStateHead(dir: string): Promise<(StateHead & { records: string[] }) | undefined> {
  const head = await readHead(dir);
  if (head === undefined || head === "damaged") return undefined;
  return { ...head, records: await recordNames(dir) };
}

async function recordNames(dir: string): Promise<string[]> {
  const names = await readdir(dir);
  return names.filter((name) => RECORD.test(name)).map((name) => name.slice(0, -ENDING.length));
}

/** A folder with the state of one generation: `state.json`, records, and a lock while somebody works on it. */
export class StateFolder {
  private run = "";

  private constructor(
    readonly dir: string,
    private readonly lock: HeldLock,
    private readonly tell: StateListener,
    private head: StateHead | "damaged" | undefined,
  ) {}

  /**
   * Takes the state in a folder, which is made if it is not there.
   *
   * @throws VdError `io` where another generation works on it, or for a folder that cannot be used
   */
  static async open(path: string, tell: StateListener, signal?: AbortSignal): Promise<StateFolder> {
    const dir = resolve(path);
    const lock = await takeLock(dir, signal);
    try {
      return new StateFolder(dir, lock, tell, await readHead(dir));
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  /** What the state was begun with; undefined for a new one. */
  get facts(): Facts | undefined {
    return typeof this.head === "object" ? this.head.facts : undefined;
  }

  /**
   * Begins a generation, or goes on with the one whose state this is.
   *
   * @throws VdError `attr` naming what differs, `io` for a folder that cannot be written to
   */
  async begin(facts: Facts): Promise<void> {
    const before = this.facts;
    const different = before && differences(before, facts);
    if (different !== undefined) throw otherGeneration(this.dir, different);
    this.run = factsDigest(facts);
    await this.removeFiles((name) => LEFTOVER.test(name));
    if (this.head === "damaged")
      this.tell(`${HEAD} of the state in ${this.dir} is damaged; what fits these options is used`);
    if (before) return;
    this.head = { format: FORMAT, facts };
    const text = JSON.stringify({ ...this.head, sha256: checksumOf(this.head) });
    await writeWholeFile(join(this.dir, HEAD), text, { where: "resume" });
    await syncFolder(this.dir);
  }

  /** Names of the records that are there. */
  names(): Promise<string[]> {
    return recordNames(this.dir);
  }

  /** Reads a record; undefined where there is none, or none that can be used, which is told and removed. */
  async read(name: string): Promise<StateRecord | undefined> {
    const path = this.pathOf(name);
    try {
      const record = await readRecord(path);
      if (record.texts[RUN] === this.run) return record;
      this.tell(`${name}${ENDING} of the state in ${this.dir} belongs to another generation and is not used`);
    } catch (error) {
      if (isMissing(error)) return undefined;
      const damage = damageOf(path, error);
      if (damage === undefined) throw error;
      this.tell(damage);
    }
    await this.removeFile(path);
    return undefined;
  }

  /**
   * Writes a record. A disk that is full, or that fails, costs the record and no more: the generation goes on.
   *
   * @returns whether it is on the disk
   * @throws VdError `io` where another process has taken the state over
   */
  async write(name: string, { texts, tensors }: StateRecord): Promise<boolean> {
    if (!(await this.lock.isHeld())) throw takenOver(this.dir);
    try {
      await writeRecord(this.pathOf(name), { texts: { ...texts, [RUN]: this.run }, tensors });
      return true;
    } catch (error) {
      if (!isVdError(error) || error.code !== "io") throw error;
      this.tell(`The state in ${this.dir} was not written (${error.got}); the generation goes on without it`);
      return false;
    }
  }

  /** Removes records. */
  async remove(names: readonly string[]): Promise<void> {
    for (const name of names) await this.removeFile(this.pathOf(name));
  }

  /** Lets go of the state; `removed`: and deletes it, with the folder if nothing else is in it. */
  async close({ removed }: { removed: boolean }): Promise<void> {
    if (removed) await this.removeFiles(isOwnFile);
    await this.lock.release();
    if (removed) await removeEmptyFolder(this.dir);
  }

  private pathOf(name: string): string {
    return join(this.dir, `${name}${ENDING}`);
  }

  private async removeFiles(isMeant: (name: string) => boolean): Promise<void> {
    for (const name of await readdir(this.dir)) if (isMeant(name)) await this.removeFile(join(this.dir, name));
  }

  /** What cannot be removed stays, and is told: no generation fails because of it. */
  private async removeFile(path: string): Promise<void> {
    await rm(path, { force: true }).catch((error: Error) => this.tell(`${path} was not removed: ${error.message}`));
  }
}

const isOwnFile = (name: string) => name === HEAD || RECORD.test(name) || LEFTOVER.test(name);

/** Deletes a folder in which nothing is; whatever else lies there is not ours. */
async function removeEmptyFolder(dir: string): Promise<void> {
  await rmdir(dir).catch(() => undefined);
}

const isMissing = (error: unknown) =>
  isVdError(error) && (error.cause as NodeJS.ErrnoException | null)?.code === "ENOENT";

async function takeLock(dir: string, signal: AbortSignal | undefined): Promise<HeldLock> {
  const taken = await lockOf(dir, signal);
  if (!("holder" in taken)) return taken;
  const { pid, host } = taken.holder;
  throw new VdError({
    code: "io",
    where: "resume",
    expected: "a state that nobody works on",
    got: `one that process ${pid} on ${host} works on (${dir})`,
    hint: "Wait for it to end, or name another folder.",
  });
}

async function lockOf(dir: string, signal: AbortSignal | undefined) {
  try {
    await makeFolder(dir);
    await syncFolder(join(dir, ".."));
    return await tryLock(join(dir, LOCK), { ...LOCK_OPTIONS, signal });
  } catch (error) {
    throw systemCode(error) ? fileError(dir, "a folder for the state", error, "resume") : error;
  }
}

function otherGeneration(dir: string, different: string): VdError {
  return new VdError({
    code: "attr",
    where: "resume",
    expected: `the generation whose state is in ${dir}`,
    got: `another one: ${different}`,
    hint: "Ask for the same, or remove the folder to begin anew.",
  });
}

function takenOver(dir: string): VdError {
  const got = "one that another process has taken over";
  return new VdError({ code: "io", where: "resume", expected: `the state in ${dir}`, got });
}

/**
 * Removes the state of a generation: its own files, and the folder if nothing else is in it. Without a state nothing happens.
 *
 * @throws VdError `io` while a generation works on it
 */
export async function removeState(path: string): Promise<void> {
  requireArgument("removeState", path, PATH);
  const dir = resolve(path);
  if ((await readdir(dir).catch(() => undefined)) === undefined) return;
  const lock = await takeLock(dir, undefined);
  for (const name of await readdir(dir)) if (isOwnFile(name)) await rm(join(dir, name), { force: true });
  await lock.release();
  await removeEmptyFolder(dir);
}
