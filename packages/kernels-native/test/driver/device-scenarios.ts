// What becomes of devices that are lost, and what several do together.
import { readFileSync } from "node:fs";
import { Device } from "../../src/index";
import { copyProgram, failure, folder, open, writeImage } from "./support";

export const severalDevices: Record<string, () => Promise<unknown>> = {
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
};
