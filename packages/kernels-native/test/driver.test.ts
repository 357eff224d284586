import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundledProgram } from "../../../tooling/testing/program";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const program = await bundledProgram(here("driver/scenarios.ts"));
const compiler = process.env.CXX ?? "g++";
const hasCompiler = process.platform === "linux" && spawnSync(compiler, ["--version"]).status === 0;
const folder = mkdtempSync(join(tmpdir(), "vd-driver-"));

/** Builds a stand-in for the driver into a folder of its own. */
function build(name: string, ...flags: string[]): void {
  mkdirSync(join(folder, name));
  const output = join(folder, name, "libcuda.so.1");
  const args = ["-x", "c++", "-w", "-shared", "-fPIC", ...flags, "-o", output, here("driver/stand-in.c")];
  const result = spawnSync(compiler, args, { encoding: "utf8" });
  if (result.status !== 0) throw new Error(result.stderr);
}

let numRuns = 0;

/** Runs a scenario in a process that finds the driver in `driver`, or none at all. */
// biome-ignore lint/suspicious/noExplicitAny: every scenario prints data of its own
function scenario(name: string, env: Record<string, string> = {}, driver = "new"): any {
  const images = join(folder, `images-${numRuns++}`);
  mkdirSync(images);
  const result = spawnSync(process.execPath, [program, name, images], {
    encoding: "utf8",
    env: {
      ...process.env,
      ...env,
      LD_LIBRARY_PATH: join(folder, driver),
    },
  });
  if (result.status !== 0) throw new Error(`${name} ended with ${result.status ?? result.signal}: ${result.stderr}`);
  return JSON.parse(result.stdout);
}

describe.skipIf(!hasCompiler)("the driver layer over a stand-in (needs Linux and a C++ compiler)", () => {
  beforeAll(() => {
    build("new");
    build("old", "-DSTAND_IN_OLD");
    mkdirSync(join(folder, "none"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("without a driver the reason names the library", () => {
    const { started, devices } = scenario("list", {}, "none");
    expect(started).toBe(false);
    expect(devices).toEqual([expect.objectContaining({ kind: "cuda", usable: false })]);
    expect(devices[0].reason).toMatch(/^No NVIDIA driver: libcuda\.so\.1 could not be loaded/);
  });

  test.each([
    ["one without cuGetProcAddress_v2", { STAND_IN_VERSION: "11040" }, "old", "supports CUDA 11.4"],
    ["one for an older CUDA", { STAND_IN_VERSION: "12080" }, "new", "supports CUDA 12.8"],
  ])("an old driver is named with what is needed: %s", (_, env, driver, found) => {
    const { devices } = scenario("list", env, driver);
    expect(devices[0].usable).toBe(false);
    expect(devices[0].reason).toBe(`The NVIDIA driver ${found}; CUDA 13.0 is needed (driver 580 or newer).`);
  });

  test("a driver without a function that is needed still names its GPUs", () => {
    const { devices } = scenario("list", { STAND_IN_LACKS: "cuTensorMapEncodeTiled" });
    expect(devices).toEqual([
      {
        kind: "cuda",
        name: "Stand-in GPU 0",
        usable: false,
        reason: "The NVIDIA driver lacks cuTensorMapEncodeTiled.",
      },
    ]);
  });

  test("a driver without a GPU", () => {
    const { devices } = scenario("list", { STAND_IN_DEVICES: "0" });
    expect(devices[0].reason).toBe("The NVIDIA driver finds no GPU.");
  });

  test("several GPUs are listed, one with an unsupported capability is refused", () => {
    const { list, failed } = scenario("listWithImages", { STAND_IN_DEVICES: "2", STAND_IN_MAJOR: "6" });
    expect(list.map(({ name }: { name: string }) => name)).toEqual(["Stand-in GPU 0", "Stand-in GPU 1"]);
    expect(list[0].reason).toBe("Compute capability 6.0; 7.5 or newer is needed.");
    expect(failed).toMatchObject({ code: "unsupported" });
    expect(failed.message).toContain("Stand-in GPU 0: Compute capability 6.0");
  });

  test("programs run, are timed and captured; memory goes in and out", () => {
    const result = scenario("run");
    expect(result).toMatchObject({
      read: [1, 2, 3],
      fetched: [30, 31],
      rowUs: [500, 500],
      replayed: [false, true],
      variants: ["copy_vector", "copy_vector"],
      launches: [1, 1],
      packedBytes: 128,
      same: true,
      overlap: { code: "layout" },
      host: "nothing",
    });
  });

  test("a program is recorded when it is compiled, and replayed by each run that does not measure its rows", () => {
    const result = scenario("graphs", { STAND_IN_GRAPH_LOG: join(folder, "graphs") });
    expect(result).toMatchObject({ plain: [], compiled: ["recorded"], measured: ["recorded"], replayed: false });
    expect(result.run).toEqual(["recorded", "launched", "launched"]);
    expect(result.refused).toMatchObject({ code: "memory" });
    expect(result.left).toBe(0);
  });

  test.each([{}, { STAND_IN_ORDER: "last" }])(
    "a run of recorded rows queues behind the one under way, with its copies: %j",
    (env) => {
      const { codes, outside, plain, read } = scenario("queued", env);
      expect(codes).toEqual(["ran", "ran", "two runs of a program at a time"]);
      expect(outside).toMatchObject({ code: "layout" });
      expect(plain).toEqual(["fulfilled", "rejected"]);
      expect(read.slice(1, 3)).toEqual([7, 8]);
    },
  );

  test("rows that were planned before read the memory and the constants that they are compiled with", () => {
    const sizes = [2, 2];
    expect(scenario("compiledAgain", { STAND_IN_ORDER: "first" })).toEqual([[2, 3, 4], sizes, [101, 102, 103], sizes]);
  });

  test("variants are taken by name where a row can have them, and listed", () => {
    const { name, legal, unknown, tooFew, tooFewReplaced, noTexts, rejected, unasked } = scenario("variants");
    const program = { chosen: ["copy_vector", "copy_vector"], candidates: [["copy_vector"], ["copy_vector"]] };
    expect(name).toBe("Stand-in GPU 0");
    expect(legal).toEqual(program);
    expect(unknown).toEqual(program);
    expect(tooFew).toMatchObject({ code: "attr" });
    expect(tooFew.message).toContain("[compile variants] expected one for each of 2 rows, got 1");
    expect(tooFewReplaced.message).toContain("[compile insteadOf] expected one for each of 2 rows, got 1");
    expect(noTexts).toMatchObject({ code: "attr" });
    const reason = "is for operands that cannot be moved 16 bytes at a time";
    expect(rejected).toEqual([[{ name: "copy_scalar", reason }], [{ name: "copy_scalar", reason }]]);
    expect(unasked).toEqual([[], []]);
  });

  test("expressions are compiled once each, let go once nothing uses them, and interpreted where the driver refuses", () => {
    const result = scenario("expressions", { STAND_IN_TEXT_LOG: join(folder, "texts") });
    const [compiled, program] = ["elementwise_f32_compiled", "elementwise_f32_program"];
    expect(result.withoutText.chosen).toEqual([program]);
    const needed = "needs the text of kernels beside the device code";
    expect(result.withoutText.rejected[0]).toContainEqual({ name: compiled, reason: needed });
    expect(result.other).toMatchObject({ chosen: [program], candidates: [[compiled, program]] });
    expect(result.first).toMatchObject({ chosen: [compiled], candidates: [[compiled, program]] });
    expect([result.forOther, result.forOne]).toEqual([
      [0, 0],
      [1, 0],
    ]);
    // All are used, then 64 are kept beside the ones of living programs.
    const { numPrograms, whileUsed, onceUnused } = result;
    expect([numPrograms, whileUsed]).toEqual([100, [101, 0]]);
    expect(onceUnused).toEqual([102, 36]);
    expect(result.kept).toBe(true);
    const words = "CUDA_ERROR_STAND_IN (218): stand-in: ptxas fatal: the stand-in's words";
    expect(result.refused).toMatchObject({ chosen: [program], candidates: [[program]] });
    const reason = `is not compiled by the driver: ${words}`;
    expect(result.refused.rejected[0]).toContainEqual({ name: compiled, reason });
    const warning = `[${compiled}] expected the NVIDIA driver to compile the kernel, got ${words}. A slower kernel gives the result.`;
    expect(result.warnings).toEqual([warning]);
  });

  test.each(["first", "last"])(
    "weights that pass through a part of the memory are there when their rows run, and not before: the %s stream ahead",
    (order) => {
      const weight = 2 ** 17;
      const { kept, fits, streamed, timed, captured, tight, freeBytes } = scenario("stream", {
        STAND_IN_ORDER: order,
      });
      expect(kept).toEqual({ wrong: [], streamedBytes: 0, scratchBytes: 0 });
      expect(fits).toEqual(kept);
      // Twelve rows of eleven weights; each slot holds one of them, and what two rows in a slot share comes once.
      for (const each of [streamed, timed, captured])
        expect(each).toEqual({ wrong: [], streamedBytes: 11 * weight, scratchBytes: 3 * weight });
      expect(tight).toEqual({ wrong: [], streamedBytes: 11 * weight, scratchBytes: 2 * weight });
      expect(freeBytes).toBe(256 * 2 ** 20);
    },
  );

  test("weights in page-locked memory stay there until the device is trimmed or their source is gone", () => {
    const result = scenario("pinned", { STAND_IN_HOST_LOG: join(folder, "host") });
    const [weight, all] = [2 ** 17, 4 * 2 ** 17];
    expect(result).toMatchObject({
      first: { taken: 4, held: all },
      again: { taken: 0, held: all },
      // Other ranges of the same weights.
      half: { taken: 4, held: all + 2 * weight },
      back: { taken: 0, held: all + 2 * weight },
      trimmed: { taken: 0, held: 0 },
      anew: { taken: 4, held: all },
      // Those whose source was freed went when the next program was compiled.
      others: { taken: 4, held: all },
      refused: { code: "memory" },
      left: 0,
    });
    expect(result.refused.message).toContain("expected 131072 bytes of page-locked host memory");
  });

  test.each([{}, { STAND_IN_ORDER: "first" }, { STAND_IN_ORDER: "last" }])(
    "a device copies page-locked memory itself, and stages what the driver does not lock: %o",
    (order) => {
      const names = ["REGISTER", "HOST", "UPLOAD"].map((name) => [
        `STAND_IN_${name}_LOG`,
        join(folder, `locked-${name}`),
      ]);
      const { bytes, locked, refused, freeBytes } = scenario("locked", { ...Object.fromEntries(names), ...order });
      const right = { onHost: true, zeroed: true, same: true, samePart: true };
      const piece = 64 * 2 ** 20;
      expect(locked).toEqual({
        ...right,
        ...{ uploads: [piece, bytes - piece, 100], registered: [bytes, bytes, -bytes, -bytes], staging: 0 },
      });
      expect(refused).toEqual({
        ...right,
        ...{ uploads: [...Array(8).fill(2 ** 23), bytes - piece, 100], registered: [], staging: 3 },
      });
      expect(freeBytes).toBe(256 * 2 ** 20);
    },
  );

  test("page-locked memory keeps its contents when the device is lost, and serves the one that is opened anew", () => {
    const { into, outOf, read } = scenario("lockedLost", { STAND_IN_LOST_AT: "1" });
    for (const failed of [into, outOf]) expect(failed.code).toBe("driver");
    expect(read).toEqual([1, 2, 3]);
  });

  test("transformed filters go once no program uses them, and are made again from filters that stay on the device", () => {
    const log = join(folder, "uploads");
    const { variant, filters, fromHost, ...held } = scenario("transforms", { STAND_IN_UPLOAD_LOG: log });
    expect(variant).toMatch(/^winograd/);
    const [transforms, all] = [4 * filters, 5 * filters];
    expect(held).toEqual({
      ...{ loaded: all, used: all, stillUsed: all },
      ...{ left: all - transforms, anew: all, short: 0, trimmed: 0 },
    });
    // The host is read where the filters themselves are gone.
    expect(fromHost).toEqual([filters, 0, 0, filters, filters]);
  });

  test("what a program has beside its buffers lies in memory that is given for it, as far as it has room there", () => {
    const { filters, without, placed, apart, noRoom, known, onHost, outside } = scenario("programSpace");
    expect(without.scratchBytes).toBeGreaterThan(1000);
    expect(without.residentBytes).toBe(5 * filters);
    expect(placed).toEqual(placed.map(() => ({ residentBytes: filters, scratchBytes: 0 })));
    // The kernels' working memory comes first.
    expect(apart).toEqual(apart.map(() => ({ residentBytes: 5 * filters, scratchBytes: 0 })));
    expect(noRoom).toEqual(noRoom.map(() => without));
    // What is there already is not made once more.
    expect(known).toEqual({ residentBytes: 5 * filters, scratchBytes: 0 });
    expect(onHost).toMatchObject({ code: "layout", message: expect.stringContaining("memory of the host") });
    expect(outside).toMatchObject({ code: "layout", message: expect.stringContaining("space within the") });
  });

  test("out of memory is an error that says how much, and the next allocation works", () => {
    const { tooMuch } = scenario("memory");
    expect(tooMuch.code).toBe("memory");
    expect(tooMuch.message).toMatch(/expected 314572800 bytes of free device memory, got 268435456 of 268435456/);
  });

  test.each([
    ["directly where the hardware can", "1", "direct"],
    ["through the host where it cannot", "0", "staged"],
  ])("one GPU copies from another %s, and one that is lost takes no other with it", (_, peers, way) => {
    const log = join(folder, `peers-${peers}`);
    const env = { STAND_IN_DEVICES: "2", STAND_IN_LOST_AT: "1", STAND_IN_PEERS: peers, STAND_IN_PEER_LOG: log };
    const result = scenario("peers", env);
    expect(result.read).toEqual([0, 0, 2, 3, 1]);
    expect(result.run.code).toBe("driver");
    expect(result.copy.message).toContain("[copy] expected a working device to copy from, got one that was lost");
    expect(result.after).toEqual([0, 0, 2, 3]);
    expect([result.goesOn, result.anew]).toEqual(["nothing", "nothing"]);
    expect(result.toAnother).toMatchObject({
      code: "layout",
      message: expect.stringContaining("memory of another one"),
    });
    expect(result.log).toEqual([way, way]);
  });

  test("a run is queued behind that of another GPU, whose result it copies", () => {
    const { results, wrong } = scenario("after", { STAND_IN_DEVICES: "2", STAND_IN_ORDER: "last" });
    // What is not queued behind it goes first here.
    expect(results).toEqual([
      [2, 3],
      [0, 0],
    ]);
    expect(wrong.code).toBe("attr");
  });

  test("a lost device fails its programs with their rows, and the next plan opens it anew", () => {
    const { run, again, old, next } = scenario("lost", { STAND_IN_LOST_AT: "2" });
    expect(run.code).toBe("driver");
    expect(run.message).toContain("an illegal memory access");
    expect(run.message).toContain("in one of 2 rows from first to second");
    expect(again).toMatchObject({ code: "driver" });
    expect(again.message).toContain("one that was lost");
    expect(old).toMatchObject({ code: "driver" });
    expect(next).toBe("nothing");
  });

  test("device code that the driver refuses, and a damaged file", () => {
    expect(scenario("module", { STAND_IN_MODULE: "209" }).prepare).toMatchObject({ code: "unsupported" });
    const { prepare } = scenario("damaged");
    expect(prepare).toMatchObject({ code: "io" });
    expect(prepare.message).toContain("pnpm build:cubins");
  });
});
