import { spawnSync } from "node:child_process";
import { copyFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { readWords, SERVE, WORKER } from "../src/options/commands";
import { temporaryFolder } from "./support/harness";

const file = (name: string) => readFile(new URL(`../deploy/${name}`, import.meta.url), "utf8");

const pathOf = (name: string) => fileURLToPath(new URL(`../deploy/${name}`, import.meta.url));
/** True for a program that is on this machine. */
const has = (program: string, word: string) => spawnSync(program, [word]).status === 0;

interface Service {
  command: string[];
  environment?: Record<string, string>;
  volumes: string[];
  stop_grace_period?: string;
}

describe("files for servers", () => {
  it("compose.yaml calls commands that there are, with volumes that are named", async () => {
    const { services, volumes } = parse(await file("compose.yaml"), { merge: true }) as {
      services: Record<string, Service>;
      volumes: Record<string, null>;
    };
    const server = readWords(SERVE, services.server!.command);
    expect(server).toMatchObject({
      kind: "values",
      values: { workers: 0, redis: "redis://redis:6379", drainSeconds: 60 },
    });
    const [word, ...rest] = services.worker!.command;
    expect(word).toBe(WORKER.words);
    expect(readWords(WORKER, rest)).toMatchObject({ kind: "values", values: { data: "/data", drainSeconds: 60 } });
    for (const { volumes: used, stop_grace_period } of Object.values(services)) {
      for (const volume of used) expect(Object.keys(volumes)).toContain(volume.split(":")[0]);
      if (stop_grace_period) expect(Number.parseInt(stop_grace_period, 10)).toBeGreaterThan(60);
    }
  });

  it("the unit of systemd calls a command that there is, and waits for it longer than it drains", async () => {
    const unit = await file("vd-studio.service");
    const words = /^ExecStart=\/usr\/bin\/env vd-studio (.*)$/m.exec(unit)![1]!.split(" ");
    const read = readWords(SERVE, words);
    expect(read).toMatchObject({ kind: "values", values: { open: false, drainSeconds: 60 } });
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)![1])).toBeGreaterThan(60);
    expect(unit).toContain("ReadWritePaths=/var/lib/vd-studio");
  });

  it.skipIf(!has("docker-compose", "version"))("compose.yaml is what docker-compose reads", () => {
    const { status, stderr } = spawnSync("docker-compose", ["-f", pathOf("compose.yaml"), "config", "--quiet"], {
      encoding: "utf8",
    });
    expect([status, stderr]).toEqual([0, ""]);
  });

  it.skipIf(!has("systemd-analyze", "--version"))("systemd has nothing against the unit", async () => {
    const { folder, remove } = temporaryFolder();
    const unit = join(folder, "vd-studio.service");
    await copyFile(pathOf("vd-studio.service"), unit);
    const { status, stderr } = spawnSync("systemd-analyze", ["verify", unit], { encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
    remove();
  });
});
