import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { run } from "../src/run";
import { temporaryFolder, WORKER_PROGRAM } from "./support/harness";

async function typed(...argv: string[]) {
  let [stdout, stderr] = ["", ""];
  const status = await run(argv, {
    stdout: { write: (text) => (stdout += text), columns: 100 },
    stderr: { write: (text) => (stderr += text) },
    ...{ signal: AbortSignal.abort(), version: "1.2.3", program: WORKER_PROGRAM, page: undefined },
    openBrowser: async () => {},
  });
  return { status, stdout, stderr };
}

describe("vd-studio", () => {
  it("helps", async () => {
    const { status, stdout } = await typed("--help");
    expect(status).toBe(0);
    for (const word of ["--port", "--no-open", "--redis", "--s3", "keys add <name>", "worker"])
      expect(stdout).toContain(word);
    expect((await typed("--version")).stdout).toBe("1.2.3\n");
    expect((await typed("worker", "--help")).stdout).toContain("--stalled-seconds");
  });

  it.each([
    [["--port", "x"], "--port"],
    [["--prt", "1"], "[--prt] expected an option of vd-studio, got an unknown one. Did you mean --port?"],
    [["fly"], 'got "fly"'],
    [["keys", "add"], "[<name>] expected a word, got none. vd-studio keys add --help shows how"],
    [["worker"], "[--redis] expected a value"],
    [["--redis", "localhost"], "--redis"],
    [["--gpus", "a"], "--gpus"],
  ])("refuses %j in a sentence", async (argv, sentence) => {
    const { status, stderr } = await typed(...argv);
    expect(status).toBe(2);
    expect(stderr).toMatch(/^Error: /);
    expect(stderr).toContain(sentence);
  });

  it("looks after keys", async () => {
    const { folder, remove } = temporaryFolder();
    expect((await typed("keys", "list", "--data", folder)).stdout).toContain("No keys");
    const added = (await typed("keys", "add", "ana", "--data", folder, "--videos", "3")).stdout;
    const id = /key_\w+/.exec(added)![0];
    expect((await typed("keys", "list", "--data", folder)).stdout).toMatch(new RegExp(`^${id} .* 3 videos .* ana\n$`));
    expect((await typed("keys", "secret", id, "--data", folder)).stdout).toMatch(/^whsec_/);
    expect((await typed("keys", "rm", id, "--data", folder)).status).toBe(0);
    expect((await typed("keys", "rm", id, "--data", folder)).stderr).toContain("the id of a key");
    remove();
  });

  it.skipIf(process.platform !== "linux")(
    "says which folder it cannot use, and makes one for its user alone",
    async () => {
      const { folder, remove } = temporaryFolder();
      await writeFile(join(folder, "file"), "");
      for (const place of ["/proc/vd-studio", "/proc", join(folder, "file"), join(folder, "file/below")]) {
        const { status, stderr } = await typed("keys", "list", "--data", place);
        expect([status, stderr]).toEqual([
          1,
          expect.stringContaining(`[--data] expected a folder to write into, got ${place} (`),
        ]);
      }
      expect((await typed("keys", "list", "--data", join(folder, "a/b"))).status).toBe(0);
      expect((await stat(join(folder, "a/b"))).mode & 0o777).toBe(0o700);
      remove();
    },
  );

  it("says which model it cannot open", async () => {
    const { folder, remove } = temporaryFolder();
    const { status, stderr } = await typed("--no-open", "--port", "0", "--data", folder, "--model", "/no/such/model");
    expect(status).toBe(1);
    expect(stderr).toContain("/no/such/model");
    remove();
  });
});
