import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";

const CI = fileURLToPath(new URL("../../../.ci", import.meta.url));
const MINGW = "x86_64-w64-mingw32-gcc-posix";
/** Programs of the system that the scripts and the stand-ins call. */
const SYSTEM = ["bash", "env", "mktemp", "tee", "grep", "tail", "rm", "cp", "cat"];

/** A checkout with nothing but .ci, and a PATH with nothing but stand-ins, which note how they are called. */
class Machine {
  readonly root = mkdtempSync(join(tmpdir(), "vd ci "));
  private readonly bin = join(this.root, "bin");
  private readonly log = join(this.root, "log");

  constructor(programs: Readonly<Record<string, string>>) {
    onTestFinished(() => rmSync(this.root, { recursive: true, force: true }));
    mkdirSync(this.bin);
    cpSync(CI, join(this.root, ".ci"), { recursive: true });
    for (const name of SYSTEM) {
      const path = ["/usr/bin", "/bin"].map((folder) => join(folder, name)).find((each) => existsSync(each));
      symlinkSync(path!, join(this.bin, name));
    }
    writeFileSync(this.log, "");
    for (const [name, body] of Object.entries({ id: "echo 1000", ...programs }))
      writeFileSync(join(this.bin, name), `#!/usr/bin/env bash\necho "${name} $*" >> "$LOG"\n${body}\n`, {
        mode: 0o755,
      });
  }

  run(script: string, env: Readonly<Record<string, string>> = {}) {
    const { status, stdout, stderr } = spawnSync(join(this.bin, "bash"), [join(this.root, ".ci", script)], {
      env: { PATH: this.bin, LOG: this.log, BIN: this.bin, TMPDIR: this.root, ...env },
      encoding: "utf8",
    });
    return { status, stdout, stderr, calls: readFileSync(this.log, "utf8").trimEnd().split("\n") };
  }
}

const WHOLE = { nvcc: "", wine: "", [MINGW]: "", "redis-server": "" };
/** Leaves out everything that a machine may lack. */
const LEFT_OUT = { VD_CI_WITHOUT_NVCC: "1", VD_CI_WITHOUT_WINDOWS: "1", VD_CI_WITHOUT_REDIS: "1" };

describe.skipIf(process.platform === "win32")("what CI requires (its scripts are for Linux)", () => {
  test("a machine that has everything is told nothing", () => {
    expect(new Machine(WHOLE).run("require")).toMatchObject({ status: 0, stdout: "", stderr: "" });
  });

  test("no nvcc is a failure with a sentence, unless it is left out in so many words", () => {
    const machine = new Machine({ wine: "", [MINGW]: "", "redis-server": "" });
    const refused = machine.run("require");
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringMatching(/expected nvcc on the PATH.*Install/) });
    const left = machine.run("require", { VD_CI_WITHOUT_NVCC: "1" });
    expect(left).toMatchObject({ status: 0, stdout: "not checked: device code (VD_CI_WITHOUT_NVCC=1)\n" });
  });

  test("no Wine or no MinGW is a failure for a user who may not install them", () => {
    for (const there of [{ nvcc: "" }, { nvcc: "", wine: "" }, { nvcc: "", [MINGW]: "" }]) {
      const { status, stderr, calls } = new Machine({ ...there, "apt-get": "" }).run("require");
      expect(status).toBe(1);
      expect(stderr).toContain("Run .ci/install-windows-tools as root");
      expect(calls.some((call) => call.startsWith("apt-get"))).toBe(false);
    }
    const left = new Machine({ nvcc: "", "redis-server": "" }).run("require", { VD_CI_WITHOUT_WINDOWS: "1" });
    expect(left).toMatchObject({
      status: 0,
      stdout: "not checked: the Windows binary (VD_CI_WITHOUT_WINDOWS=1)\n",
    });
  });

  test("no Redis is a failure with a sentence, unless it is left out in so many words", () => {
    const machine = new Machine({ nvcc: "", wine: "", [MINGW]: "" });
    const refused = machine.run("require");
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining("Run .ci/install-redis as root") });
    const left = machine.run("require", { VD_CI_WITHOUT_REDIS: "1" });
    expect(left).toMatchObject({ status: 0, stdout: "not checked: the queue on Redis (VD_CI_WITHOUT_REDIS=1)\n" });
  });

  test("root gets them installed, and a failure where that does not help", () => {
    const install = `case "$1" in install) for name in wine ${MINGW} redis-server; do cp "$BIN/nvcc" "$BIN/$name"; done ;; esac`;
    const made = new Machine({ nvcc: "", id: "echo 0", "apt-get": `echo noise\n${install}` }).run("require");
    expect(made).toMatchObject({ status: 0, stdout: "" });
    expect(made.calls.filter((call) => call.startsWith("apt-get"))).toHaveLength(2);
    const withoutRedis = { nvcc: "", wine: "", [MINGW]: "", id: "echo 0", "apt-get": install };
    expect(new Machine(withoutRedis).run("require")).toMatchObject({ status: 0, stdout: "" });
    const broken = new Machine({ nvcc: "", id: "echo 0", "apt-get": "exit 100" }).run("require");
    expect(broken).toMatchObject({ status: 1, stderr: expect.stringContaining("expected wine") });
  });
});

describe.skipIf(process.platform === "win32")(".ci/run (for Linux)", () => {
  const tests = (status: number) =>
    `case "$*" in *" test") echo "All checks took 5 s."; echo "7 passed, ${status} failed, 2 skipped"; echo trailer; exit ${status} ;; esac`;

  test("checks everything and ends with the counts of the test command", () => {
    const { status, stdout, calls } = new Machine({ ...WHOLE, node: "", npx: tests(0) }).run("run");
    expect(status).toBe(0);
    expect(stdout.trimEnd().split("\n").at(-1)).toBe("7 passed, 0 failed, 2 skipped");
    expect(stdout).not.toContain("not checked");
    expect(calls.some((call) => /^node .*build\/cubins.*--require/.test(call))).toBe(true);
    const scripts = calls.map((call) => /^npx -y pnpm@\S+ (\S+)/.exec(call)?.[1]).filter(Boolean);
    expect(scripts).toEqual(expect.arrayContaining(["check:packages", "check:windows", "check:nodes", "test"]));
    // What is packed has all that is built by then, but not the Windows binary.
    expect(scripts.slice(0, 3)).toEqual(["install", "build", "pack:tarballs"]);
    expect(scripts.at(-1)).toBe("test");
  });

  test("says before the counts what was left out, and leaves it out", () => {
    const machine = new Machine({ node: "", npx: tests(0) });
    const { status, stdout, calls } = machine.run("run", LEFT_OUT);
    expect(status).toBe(0);
    expect(stdout.trimEnd().split("\n").slice(-4)).toEqual([
      "not checked: device code (VD_CI_WITHOUT_NVCC=1)",
      "not checked: the Windows binary (VD_CI_WITHOUT_WINDOWS=1)",
      "not checked: the queue on Redis (VD_CI_WITHOUT_REDIS=1)",
      "7 passed, 0 failed, 2 skipped",
    ]);
    expect(calls.some((call) => /build-cubins|check:windows/.test(call))).toBe(false);
  });

  test("fails with the tests, counts all the same; and before them with what comes first", () => {
    const failed = new Machine({ ...WHOLE, node: "", npx: tests(1) }).run("run");
    expect(failed.status).toBe(1);
    expect(failed.stdout.trimEnd().split("\n").at(-1)).toBe("7 passed, 1 failed, 2 skipped");
    const spilled = new Machine({ ...WHOLE, node: "exit 1", npx: tests(0) }).run("run");
    expect(spilled.status).toBe(1);
    expect(spilled.calls.some((call) => /^npx .* (?:pack:|check:|test)/.test(call))).toBe(false);
    const oldNode = `case "$*" in *check:nodes*) echo "FAILED: v22 load"; exit 3 ;; esac`;
    const refused = new Machine({ ...WHOLE, node: "", npx: oldNode }).run("run");
    expect(refused).toMatchObject({ status: 3, stdout: expect.stringContaining("FAILED: v22 load") });
    expect(refused.calls.some((call) => /^npx .* test$/.test(call))).toBe(false);
    const broken = `case "$*" in *check:packages*) echo "no types"; exit 1 ;; esac`;
    const unpacked = new Machine({ ...WHOLE, node: "", npx: broken }).run("run");
    expect(unpacked).toMatchObject({ status: 1, stdout: expect.stringContaining("no types") });
    expect(unpacked.calls.some((call) => /^npx .* test$/.test(call))).toBe(false);
    const bare = new Machine({ node: "", npx: tests(0) }).run("run");
    expect(bare.status).toBe(1);
    expect(bare.calls.some((call) => /^(?:npx|node) /.test(call))).toBe(false);
  });
});
