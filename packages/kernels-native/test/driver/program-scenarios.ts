// What programs do on a device: which there are, how they run, which kernels they take.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Device, devices, type Program, startDriver } from "../../src/index";
import { EXPRESSION_TEXT } from "./expression-rows";
import { copyProgram, expressionProgram, failure, folder, manyFunctions, open, writeImage } from "./support";

export const programRuns: Record<string, () => Promise<unknown>> = {
  async list() {
    return { started: await startDriver(), devices: devices().slice(1) };
  },

  async listWithImages() {
    writeImage("sm_90a");
    const list = devices().slice(1);
    return { list, failed: await failure(() => open()) };
  },

  async run() {
    writeImage("sm_90a");
    const device = open();
    await device.prepare();
    const { allocateBuffer } = await import("../../src/index");
    const constants = allocateBuffer(512);
    const { memory, program } = await copyProgram(device, constants);
    const data = Float32Array.from({ length: 32 }, (_, i) => i);
    memory.writeSync(data, 0);
    const fetched = await memory.readFloats({ dtype: "f32", pixels: 4, channels: 8 });
    const times = await program.run({ timing: true });
    const captured = await copyProgram(device, constants, { capture: true });
    await captured.program.run();
    await captured.program.run();
    const { replayed } = await captured.program.run();
    const { variants, packedBytes, launches } = program.info;
    program.freeSync();
    captured.program.freeSync();
    await device.trim();
    return {
      read: [...memory.readSync(new Float32Array(3), 4)],
      fetched: [...fetched.subarray(30)],
      rowUs: [...times.rowUs],
      replayed: [times.replayed, replayed],
      variants,
      launches,
      packedBytes,
      same: open() === device,
      overlap: await failure(() => memory.copyFromSync(memory, 0, 4, 16)),
      host: await failure(() => device.compile(Float64Array.from([]), [], [{ buffer: constants, constant: false }])),
    };
  },

  /** Programs that are recorded: what of their graphs has happened after they were compiled, run, run with every row measured, and refused. */
  async graphs() {
    writeImage("sm_90a");
    const device = open();
    const { allocateBuffer } = await import("../../src/index");
    const constants = allocateBuffer(512);
    const log = process.env.STAND_IN_GRAPH_LOG!;
    writeFileSync(log, "");
    const lines = () => readFileSync(log, "utf8").split("\n").filter(Boolean);
    await (await copyProgram(device, constants)).program.run();
    const plain = lines();
    const { memory, program } = await copyProgram(device, constants, { capture: true });
    const compiled = lines();
    const timed = await program.run({ timing: true });
    const measured = lines();
    for (let i = 0; i < 2; i++) await program.run();
    const run = lines();
    await program.free();
    const before = await device.memory();
    process.env.STAND_IN_INSTANTIATE = "2";
    const refused = await failure(() => copyProgram(device, constants, { capture: true }));
    await memory.free();
    const after = await device.memory();
    const replayed = timed.replayed;
    // The memory that the refused program was to work in is still there, in place of the other's.
    return { plain, compiled, measured, replayed, run, refused, left: before.freeBytes - after.freeBytes };
  },

  /** Recorded rows queue a run behind the one under way, and no more; rows that are not recorded do not. */
  async queued() {
    writeImage("sm_90a");
    const device = open();
    const { allocateBuffer } = await import("../../src/index");
    const { memory, program } = await copyProgram(device, allocateBuffer(512), { capture: true });
    const from = await device.allocate(64);
    from.writeSync(Float32Array.of(5, 6, 7, 8));
    const copies = [{ target: memory, to: 4, source: from, from: 8, bytes: 8 }];
    const runs = [program.run({ copies }), program.run(), program.run()];
    const codes = (await Promise.allSettled(runs)).map((each) =>
      each.status === "rejected" ? each.reason.expected : "ran",
    );
    await program.run();
    const outside = await failure(() => program.run({ copies: [{ ...copies[0]!, bytes: 4096 }] }));
    const plain = await copyProgram(device, allocateBuffer(512));
    const two = await Promise.allSettled([plain.program.run(), plain.program.run()]);
    return { codes, outside, plain: two.map(({ status }) => status), read: [...memory.readSync(new Float32Array(4))] };
  },

  /** The same rows compiled once more, with other memory and other constants. */
  async compiledAgain() {
    writeImage("sm_90a");
    const device = open();
    const { allocateBuffer } = await import("../../src/index");
    const results: number[][] = [];
    for (const first of [1, 100]) {
      const constants = allocateBuffer(512);
      constants.writeSync(Float32Array.from({ length: 128 }, (_, i) => first + i));
      const { memory, program } = await copyProgram(device, constants);
      await program.run();
      results.push([...memory.readSync(new Float32Array(3), 128)]);
      results.push([program.candidates.length, program.info.variants.length]);
    }
    return results;
  },

  async variants() {
    writeImage("sm_90a");
    const device = open();
    const { allocateBuffer } = await import("../../src/index");
    const constants = allocateBuffer(512);
    const compiled = async (variants: string[], insteadOf?: string[]) => {
      const { program } = await copyProgram(device, constants, { variants, insteadOf });
      return { chosen: program.info.variants, candidates: program.candidates };
    };
    const explained = await copyProgram(device, constants, { explain: true });
    return {
      name: device.name,
      rejected: explained.program.rejected,
      unasked: (await copyProgram(device, constants)).program.rejected,
      legal: await compiled(["copy_vector", ""]),
      unknown: await compiled(["copy_scalar", "no such kernel"]),
      tooFewReplaced: await failure(() => compiled(["", ""], ["copy_vector"])),
      tooFew: await failure(() => compiled(["copy_vector"])),
      noTexts: await failure(() => compiled([1, 2] as unknown as string[])),
    };
  },

  /** Programs of expressions that have no kernel of their own, on a driver that compiles their text: what each row gets. */
  async expressions() {
    writeImage("sm_90a");
    const log = process.env.STAND_IN_TEXT_LOG!;
    const withoutText = await expressionProgram(open(), "neg", { explain: true });
    // Devices are opened once: other text needs another folder, here the same by another name.
    writeFileSync(join(folder, "compute_80.ptx"), EXPRESSION_TEXT);
    const device = Device.cuda({ imageDir: `${join(folder, ".")}/` });
    const warnings: string[] = [];
    process.on("warning", ({ message }) => warnings.push(message));
    writeFileSync(log, "");
    const counts = () => {
      const lines = readFileSync(log, "utf8").trim().split("\n").filter(Boolean);
      return [lines.filter((line) => line === "load").length, lines.filter((line) => line === "unload").length];
    };
    const about = ({ info, candidates, rejected }: Program) => ({ chosen: info.variants, candidates, rejected });
    const other = await expressionProgram(device, "neg", { variants: ["elementwise_f32_program"] });
    const forOther = counts();
    const first = await expressionProgram(device, "neg", { explain: true });
    const again = await Promise.all(
      Array.from({ length: 4 }, () => expressionProgram(device, "neg", { capture: true })),
    );
    const forOne = counts();
    for (const program of [first, ...again]) await program.run();
    const all = [];
    for (const name of manyFunctions()) all.push(await expressionProgram(device, name));
    const whileUsed = counts();
    for (const program of all) await program.free();
    await expressionProgram(device, "neg neg neg neg neg neg neg neg");
    const onceUnused = counts();
    const [loads] = counts();
    await expressionProgram(device, "neg");
    const [stillThere] = counts();
    process.env.STAND_IN_TEXT = "218";
    const refused = await expressionProgram(device, "abs sqrt abs", { explain: true });
    await expressionProgram(device, "abs sqrt abs");
    await new Promise((resolve) => setImmediate(resolve));
    return {
      ...{ withoutText: about(withoutText), other: about(other), first: about(first), refused: about(refused) },
      ...{ forOther, forOne, whileUsed, onceUnused, kept: stillThere === loads, warnings, numPrograms: all.length },
    };
  },

  async module() {
    writeImage("sm_90a");
    return { prepare: await failure(() => open().prepare()) };
  },

  async damaged() {
    writeFileSync(join(folder, "sm_90a.fatbin"), "not device code");
    return { prepare: await failure(() => open().prepare()) };
  },
};
