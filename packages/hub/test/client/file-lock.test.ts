import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { failureOf } from "../../../../tooling/testing/failure";
import { acquireLock, tryLock } from "../../src/client/file-lock";

let dir: string;
let path: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "vd-lock-"));
  path = join(dir, "locks", "blob.lock.json");
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const options = { pollMs: 3, staleMs: 200, signal: undefined };
const owner = (fields: object) => JSON.stringify({ id: "other", pid: process.pid, host: hostname(), ...fields });

async function leaveLock(text: string): Promise<void> {
  await (await acquireLock(path, options)).release();
  await writeFile(path, text);
}

describe("acquireLock", () => {
  it("lets one in at a time and leaves no file", async () => {
    let [inside, most, entered] = [0, 0, 0];
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        const lock = await acquireLock(path, { ...options, staleMs: 5_000 });
        most = Math.max(most, ++inside);
        await new Promise((resolve) => setTimeout(resolve, 5));
        await lock.assertHeld();
        inside--;
        entered++;
        await lock.release();
      }),
    );
    expect([most, entered]).toEqual([1, 8]);
    expect(await readdir(join(dir, "locks"))).toEqual([]);
  });

  it("takes over at once from a process of this machine that is dead", async () => {
    const { pid } = spawnSync(process.execPath, ["-e", "0"]);
    await leaveLock(owner({ pid }));
    const startMs = performance.now();
    const lock = await acquireLock(path, { ...options, staleMs: 60_000 });
    expect(performance.now() - startMs).toBeLessThan(30_000);
    await lock.assertHeld();
    await lock.release();
  });

  it.each([
    ["a process of another machine", owner({ host: "elsewhere" })],
    ["a living process that has forgotten it", owner({})],
    ["a process that died before it wrote its name", ""],
  ])("takes over from %s only after its heartbeat has rested", async (_, text) => {
    await leaveLock(text);
    const startMs = performance.now();
    const lock = await acquireLock(path, options);
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(195);
    await lock.release();
  });

  it("waits for an owner with a heartbeat, however long", async () => {
    const first = await acquireLock(path, options);
    const order: string[] = [];
    const second = acquireLock(path, options).then(async (lock) => {
      order.push("second");
      await lock.release();
    });
    await new Promise((resolve) => setTimeout(resolve, 700));
    await first.assertHeld();
    order.push("first");
    await first.release();
    await second;
    expect(order).toEqual(["first", "second"]);
  });

  it("tells an owner whose lock was taken over, and does not remove the new owner's", async () => {
    const lock = await acquireLock(path, options);
    await writeFile(path, owner({}));
    await expect(lock.assertHeld()).rejects.toThrow(/took the download over/);
    await lock.release();
    expect(await readFile(path, "utf8")).toBe(owner({}));
  });

  it("can be cancelled while it waits", async () => {
    const lock = await acquireLock(path, options);
    const error = await failureOf(acquireLock(path, { ...options, signal: AbortSignal.timeout(30) }));
    expect(error.code).toBe("cancelled");
    await lock.release();
  });
});

describe("tryLock", () => {
  it.skipIf(process.platform !== "linux")(
    "takes the lock of a process that ended and that nobody asked about",
    async () => {
      // The shell becomes a program that never asks about the child that it had, which ends only then: a shell would ask.
      const child = 'until [ "$(cat /proc/$$/comm)" = sleep ]; do sleep 0.01; done';
      const script = `${child} & echo $!; exec sleep 60`;
      const parent = spawn("sh", ["-c", script], { stdio: ["ignore", "pipe", "ignore"] });
      try {
        const pid = Number(String((await once(parent.stdout, "data"))[0]));
        const fields = () => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
        await expect.poll(() => fields()[0]).toBe("Z");
        await leaveLock(owner({ pid, started: fields()[19] }));
        const lock = await tryLock(path, { ...options, staleMs: 60_000 });
        expect(lock).toHaveProperty("release");
        if ("release" in lock) await lock.release();
      } finally {
        parent.kill();
      }
    },
  );

  it("says who has the lock, and takes it once it is free", async () => {
    const first = await acquireLock(path, options);
    expect(await tryLock(path, options)).toEqual({ holder: { pid: process.pid, host: hostname() } });
    await first.release();
    const second = await tryLock(path, options);
    expect("holder" in second ? "taken" : await second.isHeld()).toBe(true);
    if (!("holder" in second)) await second.release();
  });

  it.each([
    ["a dead process of this machine", () => owner({ pid: spawnSync(process.execPath, ["-e", "0"]).pid })],
    ["an earlier process of the same number", () => owner({ started: "1" })],
  ])("takes over at once from %s", async (_, text) => {
    await leaveLock(text());
    const startMs = performance.now();
    const lock = await tryLock(path, { ...options, staleMs: 60_000 });
    expect("holder" in lock).toBe(false);
    expect(performance.now() - startMs).toBeLessThan(30_000);
    if (!("holder" in lock)) await lock.release();
  });

  it("gives up before the heartbeat of another machine, and takes over once it has rested", async () => {
    await leaveLock(owner({ host: "elsewhere" }));
    const beat = setInterval(() => void utimes(path, new Date(), new Date()), 20);
    const taken = await tryLock(path, { ...options, staleMs: 5_000 });
    clearInterval(beat);
    expect(taken).toEqual({ holder: { pid: process.pid, host: "elsewhere" } });
    await new Promise((resolve) => setTimeout(resolve, 50));
    const lock = await tryLock(path, options);
    expect("holder" in lock).toBe(false);
    if (!("holder" in lock)) await lock.release();
  });
});
