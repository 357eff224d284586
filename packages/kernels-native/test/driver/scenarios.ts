// Run by driver.test.ts in a process whose NVIDIA driver is the stand-in: prints what happened as JSON.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type CompileOptions,
  Device,
  type DeviceBuffer,
  devices,
  dtypeIndex,
  isVdError,
  OPS,
  type Program,
  startDriver,
} from "../../src/index";
import { EXPRESSION_BYTES, EXPRESSION_TEXT, expressionRow } from "./expression-rows";

const [, , scenario = "", folder = ""] = process.argv;

/** A fatbin with nothing in it: the stand-in takes any image. */
function writeImage(name: string): void {
  const image = Buffer.alloc(48);
  image.writeUInt32LE(0xba55ed50, 0);
  image.writeUInt16LE(1, 4);
  image.writeUInt16LE(16, 6);
  image.writeBigUInt64LE(16n, 8);
  writeFileSync(join(folder, `${name}.fatbin`), image.subarray(0, 32));
}

const open = () => Device.cuda({ imageDir: folder });

/** What a call threw, as plain data. */
async function failure(body: () => unknown): Promise<unknown> {
  try {
    await body();
    return "nothing";
  } catch (error) {
    return isVdError(error) ? { code: error.code, message: error.message } : String(error);
  }
}

/** A row that copies x to y, both [1,1,4,8], and one that uses a constant; on buffers of the device. */
async function copyProgram(
  device: Device,
  constants: DeviceBuffer,
  { capture = false, variants, explain }: CompileOptions = {},
) {
  const memory = await device.allocate(256);
  const tensor = (buffer: number, offset: number) => [buffer, offset, 0, 4, 1, 1, 4, 8, 0, 8];
  const copy = Object.keys(OPS).indexOf("copy");
  const words = [copy, ...tensor(0, 0), ...tensor(0, 128), copy, ...tensor(1, 4), ...tensor(0, 128)];
  const bindings = [
    { buffer: memory, constant: false },
    { buffer: constants, constant: true },
  ];
  return {
    memory,
    program: await device.compile(Float64Array.from(words), ["first", "second"], bindings, {
      capture,
      variants,
      explain,
    }),
  };
}

/** 100 different lists of functions that EXPRESSION_TEXT has. */
const manyFunctions = () =>
  Array.from({ length: 100 }, (_, i) =>
    Array.from({ length: 7 }, (_, bit) => ((i >> bit) & 1 ? "neg" : "abs")).join(" "),
  );

/** A row that computes functions of a, [1,1,1024,64], one after the other. */
async function expressionProgram(device: Device, functions: string, options: CompileOptions = {}) {
  const bindings = [{ buffer: await device.allocate(EXPRESSION_BYTES), constant: false }];
  return device.compile(Float64Array.from(expressionRow(functions)), ["row"], bindings, options);
}

const scenarios: Record<string, () => Promise<unknown>> = {
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
    const compiled = async (variants: string[]) => {
      const { program } = await copyProgram(device, constants, { variants });
      return { chosen: program.info.variants, candidates: program.candidates };
    };
    const explained = await copyProgram(device, constants, { explain: true });
    return {
      name: device.name,
      rejected: explained.program.rejected,
      unasked: (await copyProgram(device, constants)).program.rejected,
      legal: await compiled(["copy_vector", ""]),
      unknown: await compiled(["copy_scalar", "no such kernel"]),
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

  /** Rows that each copy a weight of its own to their place, with weights on the device and with weights that are streamed. */
  async stream() {
    writeImage("sm_90a");
    const device = open();
    const { allocateBuffer } = await import("../../src/index");
    const [numRows, floats] = [12, 32 * 1024];
    const weights = allocateBuffer(4 * numRows * floats);
    weights.writeSync(Float32Array.from({ length: numRows * floats }, (_, i) => i % 1_000_003));
    const copy = Object.keys(OPS).indexOf("copy");
    const tensor = (buffer: number, row: number) => [buffer, 4 * row * floats, 0, 4, 1, 1, floats / 8, 8, 0, 8];
    // The seventh and the eighth row use a weight again: one of the row before, and one of long ago.
    const weightOf = (row: number) => (row === 6 ? 5 : row === 7 ? 0 : row);
    const rows = Array.from({ length: numRows }, (_, row) => row);
    const words = Float64Array.from(rows.flatMap((row) => [copy, ...tensor(1, weightOf(row)), ...tensor(0, row)]));
    const names = rows.map((row) => `row ${row}`);
    const sums = async (options: CompileOptions, timing = false) => {
      const memory = await device.allocate(4 * numRows * floats);
      const bindings = [
        { buffer: memory, constant: false },
        { buffer: weights, constant: true },
      ];
      const program = await device.compile(words, names, bindings, options);
      const wrong: number[] = [];
      for (let run = 0; run < 3; run++) {
        memory.writeSync(new Float32Array(numRows * floats));
        await program.run({ timing });
        const got = memory.readSync(new Float32Array(numRows * floats));
        for (const row of rows)
          for (const i of [0, 1, floats / 2, floats - 1])
            if (got[row * floats + i] !== (weightOf(row) * floats + i) % 1_000_003) wrong.push(row);
      }
      const { streamedBytes, scratchBytes } = program.info;
      await program.free();
      memory.freeSync();
      return { wrong, streamedBytes, scratchBytes };
    };
    const streamBytes = 3 * 4 * floats;
    const results = {
      kept: await sums({}),
      fits: await sums({ streamBytes: 4 * numRows * floats }),
      streamed: await sums({ streamBytes }),
      timed: await sums({ streamBytes }, true),
      captured: await sums({ streamBytes, capture: true }),
      tight: await sums({ streamBytes: 1 }),
    };
    await device.trim();
    return { ...results, freeBytes: (await device.memory()).freeBytes };
  },

  /** Programs one after the other that stream the same weights: what of page-locked memory each takes anew, and what is held. */
  async pinned() {
    writeImage("sm_90a");
    const device = open();
    const { allocateBuffer } = await import("../../src/index");
    const [numRows, floats] = [4, 32 * 1024];
    let weights = allocateBuffer(4 * numRows * floats);
    const copy = Object.keys(OPS).indexOf("copy");
    const tensor = (buffer: number, row: number, pixels: number) => [
      buffer,
      4 * row * floats,
      0,
      4,
      1,
      1,
      pixels,
      8,
      0,
      8,
    ];
    const rows = Array.from({ length: numRows }, (_, row) => row);
    const log = process.env.STAND_IN_HOST_LOG!;
    const sizes = () => readFileSync(log, "utf8").trim().split("\n").map(Number);
    const held = () => sizes().reduce((sum, bytes) => sum + bytes, 0);
    /** Compiles and runs rows that take `pixels` of each weight. */
    const take = async (pixels = floats / 8) => {
      const before = sizes().length;
      const memory = await device.allocate(4 * numRows * floats);
      const words = rows.flatMap((row) => [copy, ...tensor(1, row, pixels), ...tensor(0, row, pixels)]);
      const bindings = [
        { buffer: memory, constant: false },
        { buffer: weights, constant: true },
      ];
      const names = rows.map((row) => `row ${row}`);
      const program = await device.compile(Float64Array.from(words), names, bindings, { streamBytes: 1 });
      await program.run();
      await program.free();
      await memory.free();
      return {
        taken: sizes()
          .slice(before)
          .filter((bytes) => bytes > 0).length,
        held: held(),
      };
    };
    writeFileSync(log, "0\n");
    await device.prepare();
    const result: Record<string, unknown> = { first: await take(), again: await take() };
    // Another size of the same rows reads other ranges.
    Object.assign(result, { half: await take(floats / 16), back: await take() });
    await device.trim();
    Object.assign(result, { trimmed: { taken: 0, held: held() }, anew: await take() });
    weights.freeSync();
    weights = allocateBuffer(4 * numRows * floats);
    Object.assign(result, { others: await take() });
    await device.trim();
    process.env.STAND_IN_HOST_KIBIBYTES = "200";
    const refused = await failure(() => take());
    await device.trim();
    return { ...result, refused, left: held() };
  },

  /** Copies between a device and host memory that is page-locked, or is not because the driver refuses. */
  async locked() {
    writeImage("sm_90a");
    const device = open();
    // Two pieces of a direct copy, and a ragged end.
    const bytes = 65 * 2 ** 20 + 123;
    const contents = Uint8Array.from({ length: bytes }, (_, i) => Math.imul(i, 2_654_435_761) >>> 24);
    const numbers = (name: string) => readFileSync(process.env[name]!, "utf8").trim().split("\n").map(Number).slice(1);
    const logs = ["STAND_IN_REGISTER_LOG", "STAND_IN_HOST_LOG", "STAND_IN_UPLOAD_LOG"] as const;
    const copies = async () => {
      for (const log of logs) writeFileSync(process.env[log]!, "0\n");
      const [from, to] = [await device.allocateHost(bytes), await device.allocateHost(bytes)];
      const zeroed = Buffer.compare(await from.readBytes(0, bytes), new Uint8Array(bytes)) === 0;
      const memory = await device.allocate(bytes);
      from.writeSync(contents);
      await memory.copyFrom(from, 0, 0, bytes);
      await to.copyFrom(memory, 0, 0, bytes);
      const same = Buffer.compare(await to.readBytes(0, bytes), contents) === 0;
      // A part, to another place, and between two of them.
      await memory.copyFrom(from, 1000, 7, 100);
      await to.copyFrom(memory, 7, 50, 100);
      await to.copyFrom(from, 5000, 150, 10);
      const part = Buffer.concat([contents.subarray(1000, 1100), contents.subarray(5000, 5010)]);
      const samePart = Buffer.compare(await to.readBytes(50, 110), part) === 0;
      const uploads = numbers("STAND_IN_UPLOAD_LOG");
      for (const buffer of [from, to, memory]) await buffer.free();
      return {
        ...{ onHost: from.onHost, zeroed, same, samePart, uploads },
        ...{ registered: numbers("STAND_IN_REGISTER_LOG"), staging: numbers("STAND_IN_HOST_LOG").length },
      };
    };
    const locked = await copies();
    process.env.STAND_IN_REGISTER = "801";
    const refused = await copies();
    const { freeBytes } = await device.memory();
    return { bytes, locked, refused, freeBytes };
  },

  /** Page-locked memory of a device that is lost, and again of the one that is opened anew. */
  async lockedLost() {
    writeImage("sm_90a");
    const device = open();
    const { allocateBuffer } = await import("../../src/index");
    const constants = allocateBuffer(512);
    const [kept, freed] = [await device.allocateHost(64), await device.allocateHost(64)];
    kept.writeSync(Float32Array.of(1, 2, 3));
    const first = await copyProgram(device, constants);
    await failure(() => first.program.run());
    const into = await failure(() => first.memory.copyFrom(kept, 0, 0, 12));
    const outOf = await failure(() => kept.copyFrom(first.memory, 0, 0, 12));
    await freed.free();
    const next = await device.allocate(64);
    await next.copyFrom(kept, 0, 0, 12);
    const again = await device.allocateHost(64);
    await again.copyFrom(next, 0, 0, 12);
    const read = [...again.readSync(new Float32Array(3))];
    for (const buffer of [kept, again]) await buffer.free();
    return { into, outOf, read };
  },

  /** Programs one after the other with a convolution whose filters are transformed: what is on the device, and what comes from the host. */
  async transforms() {
    writeImage("sm_90a");
    const device = open();
    const { allocateBuffer } = await import("../../src/index");
    const [channels, side] = [640, 64];
    const weights = allocateBuffer(2 * 9 * channels * channels);
    const log = process.env.STAND_IN_UPLOAD_LOG!;
    const half = dtypeIndex("f16");
    const tensor = (buffer: number, offset: number, ...dims: number[]) => [
      ...[buffer, offset, half, dims.length],
      ...dims,
      dims.at(-1)!,
    ];
    const absent = [-1, 0, 0, 1, 1, 0, 0, 0, 0, 1];
    const map = [1, 1, side, side, channels];
    const mapBytes = 2 * side * side * channels;
    const words = Float64Array.from([
      ...[Object.keys(OPS).indexOf("conv_winograd"), 0, 0, 1, 1, 1],
      ...[...tensor(0, 0, ...map), ...absent, ...tensor(1, 0, channels, channels, 1, 3, 3)],
      ...Array.from({ length: 7 }, () => absent).flat(),
      ...tensor(0, mapBytes, ...map),
    ]);
    const uploaded = () => readFileSync(log, "utf8").trim().split("\n").map(Number);
    const compile = async () => {
      writeFileSync(log, "0\n");
      const memory = await device.allocate(2 * mapBytes);
      const bindings = [
        { buffer: memory, constant: false },
        { buffer: weights, constant: true },
      ];
      const program = await device.compile(words, ["conv"], bindings);
      await program.run();
      const fromHost = uploaded().reduce((sum, bytes) => sum + bytes, 0);
      return { memory, program, fromHost };
    };
    const held = async () => (await device.memory()).residentBytes;
    const first = await compile();
    const { variants } = first.program.info;
    const loaded = await held();
    await device.trim({ only: "transformed" });
    const used = await held();
    const second = await compile();
    await first.program.free();
    await device.trim({ only: "transformed" });
    const stillUsed = await held();
    await second.program.free();
    await device.trim({ only: "transformed" });
    const left = await held();
    const again = await compile();
    const anew = await held();
    await again.program.free();
    await device.trim({ only: "transformed" });
    // What is short is taken from filters that no program uses.
    const { freeBytes } = await device.memory();
    const large = await device.allocate(freeBytes + 256);
    const short = await held();
    large.freeSync();
    const afterShortage = await compile();
    await afterShortage.program.free();
    await device.trim();
    const trimmed = await held();
    const last = await compile();
    return {
      ...{
        variant: variants[0],
        filters: 2 * 9 * channels * channels,
        loaded,
        used,
        stillUsed,
        left,
        anew,
        short,
        trimmed,
      },
      fromHost: [first, second, again, afterShortage, last].map(({ fromHost }) => fromHost),
    };
  },

  async memory() {
    writeImage("sm_90a");
    const device = open();
    const tooMuch = await failure(() => device.allocate(300 * 2 ** 20));
    const { allocateBuffer } = await import("../../src/index");
    const { program } = await copyProgram(device, allocateBuffer(512));
    await program.run();
    return { tooMuch };
  },

  async lost() {
    writeImage("sm_90a");
    const device = open();
    const { allocateBuffer } = await import("../../src/index");
    const constants = allocateBuffer(512);
    const first = await copyProgram(device, constants);
    const run = await failure(() => first.program.run());
    const again = await failure(() => first.program.run());
    const old = await failure(() => first.memory.readSync(new Uint8Array(4)));
    const second = await copyProgram(device, constants);
    return { run, again, old, next: await failure(() => second.program.run()) };
  },

  async peers() {
    writeImage("sm_90a");
    const [first, second] = [0, 1].map((index) => Device.cuda({ index, imageDir: folder })) as [Device, Device];
    const { allocateBuffer } = await import("../../src/index");
    const constants = allocateBuffer(512);
    const [from, to] = [await copyProgram(second, constants), await first.allocate(64)];
    from.memory.writeSync(Float32Array.of(1, 2, 3, 4));
    await to.copyFrom(from.memory, 4, 8, 8);
    await to.copyFrom(from.memory, 0, 32, 4);
    const read = [...to.readSync(new Float32Array(4)), to.readSync(new Float32Array(1), 32)[0]];
    const run = await failure(() => from.program.run());
    const copy = await failure(() => to.copyFrom(from.memory, 0, 0, 8));
    // The device that was copied to goes on.
    const after = [...to.readSync(new Float32Array(4))];
    const mine = await copyProgram(first, constants);
    const copies = [{ target: mine.memory, to: 0, source: to, from: 8, bytes: 8 }];
    const goesOn = await failure(() => mine.program.run({ copies }));
    const toAnother = await failure(() => mine.program.run({ copies: [{ ...copies[0]!, target: from.memory }] }));
    const anew = await failure(async () => (await copyProgram(second, constants)).program.run());
    const log = readFileSync(process.env.STAND_IN_PEER_LOG!, "utf8").trim().split("\n");
    return { read, run, copy, after, goesOn, toAnother, anew, log };
  },

  /** A run of one GPU that copies what a run of another one leaves, queued behind it and not. */
  async after() {
    writeImage("sm_90a");
    const [first, second] = [0, 1].map((index) => Device.cuda({ index, imageDir: folder })) as [Device, Device];
    const { allocateBuffer } = await import("../../src/index");
    const constants = allocateBuffer(512);
    constants.writeSync(Float32Array.from({ length: 128 }, (_, i) => i + 1));
    const results: number[][] = [];
    for (const isBehind of [true, false]) {
      const from = await copyProgram(first, constants);
      const to = await copyProgram(second, constants);
      from.memory.writeSync(new Float32Array(64));
      await from.program.queue();
      const copies = [{ target: to.memory, to: 0, source: from.memory, from: 128, bytes: 8 }];
      await to.program.queue({ copies, after: isBehind ? [from.program] : [] });
      await to.program.wait();
      results.push([...to.memory.readSync(new Float32Array(2))]);
      await from.program.wait();
    }
    const { program } = await copyProgram(first, constants);
    await program.wait();
    const wrong = await failure(() => program.queue({ after: [{ native: 1 } as unknown as typeof program] }));
    return { results, wrong };
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

console.log(JSON.stringify(await scenarios[scenario]!()));
process.exit(0);
