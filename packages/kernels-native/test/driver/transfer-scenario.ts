// Run by transfer.test.ts in a process whose NVIDIA driver is the stand-in: copies beside each other, and prints whether
// every byte arrived.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { allocateBuffer, allocateFloats, Device } from "../../src/index";

const [, , folder = ""] = process.argv;
/** Several pinned blocks, and a ragged end. */
const BYTES = 20 * 2 ** 20 + 12_345;
const PART = 2 ** 20;

/** A fatbin with nothing in it: the stand-in takes any image. */
function writeImage(): void {
  const image = Buffer.alloc(32);
  image.writeUInt32LE(0xba55ed50, 0);
  image.writeUInt16LE(1, 4);
  image.writeUInt16LE(16, 6);
  image.writeBigUInt64LE(16n, 8);
  writeFileSync(join(folder, "sm_80.fatbin"), image);
}

function contents(seed: number): Uint8Array {
  const bytes = new Uint8Array(BYTES);
  for (let i = 0; i < BYTES; i++) bytes[i] = Math.imul(i + seed, 2_654_435_761) >>> 24;
  return bytes;
}

writeImage();
const device = Device.cuda({ imageDir: folder });
const targets = await Promise.all([1, 2, 3].map(() => device.allocate(BYTES)));

/** Fills a buffer part by part; each part may change as soon as it is handed over. */
async function sendInParts(index: number): Promise<void> {
  const bytes = contents(index);
  for (let at = 0; at < BYTES; at += PART) {
    const part = bytes.slice(at, at + PART);
    const sent = targets[index]!.write(part, at);
    part.fill(0);
    await sent;
  }
}

/** Fills the last buffer from host memory in one go. */
async function bring(): Promise<void> {
  const source = allocateBuffer(BYTES);
  source.writeSync(contents(2));
  await targets[2]!.copyFrom(source, 0, 0, BYTES);
}

await Promise.all([sendInParts(0), sendInParts(1), bring()]);
const fetched = await Promise.all(targets.map((target) => target.readBytes(0, BYTES)));
const same = fetched.map((bytes, index) => Buffer.compare(bytes, contents(index)) === 0);

/** Reads numbers through blocks while others copy, and compares them with those of the same bytes on the host. */
async function readFloats(pitch: number): Promise<boolean> {
  const region = {
    byteOffset: 8,
    dtype: "f32",
    pixels: Math.floor((BYTES - 8) / (4 * pitch)),
    channels: 3,
    pitch,
  } as const;
  const host = allocateBuffer(BYTES);
  host.writeSync(contents(0));
  const into = allocateFloats(3 * region.pixels);
  const [read, wanted] = await Promise.all([
    targets[0]!.readCheckedFloats(region, into),
    host.readCheckedFloats(region),
    targets[1]!.readCheckedFloats({ dtype: "bf16", pixels: BYTES >> 1, channels: 1 }),
    targets[1]!.copyFrom(targets[2]!, 0, 0, BYTES),
    sendInParts(2),
  ]);
  const isSame =
    Buffer.compare(new Uint8Array(into.slice().buffer), new Uint8Array(wanted.values.slice().buffer)) === 0;
  return isSame && read.firstNotFinite === wanted.firstNotFinite;
}
const numbers: boolean[] = [];
for (const pitch of [3, 4]) numbers.push(await readFloats(pitch));

for (const target of targets) await target.free();
console.log(JSON.stringify({ same, numbers, freeBytes: await device.memory().then(({ freeBytes }) => freeBytes) }));
