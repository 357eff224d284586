// What programs take of a device's memory and of the machine's.
import { readFileSync, writeFileSync } from "node:fs";
import { type CompileOptions, type Device, type DeviceBuffer, dtypeIndex, OPS } from "../../src/index";
import { copyProgram, failure, open, writeImage } from "./support";

const CHANNELS = 640;
const FILTER_BYTES = 2 * 9 * CHANNELS * CHANNELS;

/** A program whose filters are transformed: a convolution from the first half of a memory to the second. */
async function compileTransformed(device: Device, weights: DeviceBuffer, options: CompileOptions = {}) {
  const side = 64;
  const half = dtypeIndex("f16");
  const tensor = (buffer: number, offset: number, ...dims: number[]) => [
    ...[buffer, offset, half, dims.length],
    ...dims,
    dims.at(-1)!,
  ];
  const absent = [-1, 0, 0, 1, 1, 0, 0, 0, 0, 1];
  const map = [1, 1, side, side, CHANNELS];
  const mapBytes = 2 * side * side * CHANNELS;
  const words = Float64Array.from([
    ...[Object.keys(OPS).indexOf("conv_winograd"), 0, 0, 1, 1, 1],
    ...[...tensor(0, 0, ...map), ...absent, ...tensor(1, 0, CHANNELS, CHANNELS, 1, 3, 3)],
    ...Array.from({ length: 7 }, () => absent).flat(),
    ...tensor(0, mapBytes, ...map),
  ]);
  const memory = await device.allocate(2 * mapBytes);
  const bindings = [
    { buffer: memory, constant: false },
    { buffer: weights, constant: true },
  ];
  return { memory, program: await device.compile(words, ["conv"], bindings, options) };
}

export const memoryUse: Record<string, () => Promise<unknown>> = {
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
    const weights = allocateBuffer(FILTER_BYTES);
    const log = process.env.STAND_IN_UPLOAD_LOG!;
    const uploaded = () => readFileSync(log, "utf8").trim().split("\n").map(Number);
    const compile = async () => {
      writeFileSync(log, "0\n");
      const { memory, program } = await compileTransformed(device, weights);
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
        filters: FILTER_BYTES,
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

  /** Programs that are given memory for what they have beside their buffers: what they take of other memory. */
  async programSpace() {
    writeImage("sm_90a");
    const device = open();
    const { allocateBuffer } = await import("../../src/index");
    const weights = allocateBuffer(FILTER_BYTES);
    const besides = async (options: CompileOptions = {}) => {
      const { memory, program } = await compileTransformed(device, weights, options);
      await program.run();
      const { residentBytes } = await device.memory();
      const { scratchBytes } = program.info;
      await program.free();
      memory.freeSync();
      return { residentBytes, scratchBytes };
    };
    const inSpace = async (buffer: DeviceBuffer, byteOffset: number, bytes: number) => {
      const taken = await besides({ space: { buffer, byteOffset, bytes } });
      await device.trim();
      return taken;
    };
    const without = await besides();
    await device.trim();
    const needed = without.scratchBytes + 4 * FILTER_BYTES;
    const space = await device.allocate(needed + 512);
    const placed = [await inSpace(space, 0, needed), await inSpace(space, 512, needed)];
    const apart = [await inSpace(space, 0, needed - 1), await inSpace(space, 1, needed)];
    const noRoom = [await inSpace(space, 0, 1000), await inSpace(space, needed + 512, 0)];
    const kept = await compileTransformed(device, weights);
    const known = await inSpace(space, 0, needed);
    await kept.program.free();
    const onHost = await failure(() => inSpace(weights, 0, needed));
    const outside = await failure(() => inSpace(space, 513, needed));
    return { filters: FILTER_BYTES, without, placed, apart, noRoom, known, onHost, outside };
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
};
