import fc from "fast-check";
import { allocateFloats } from "../../src/index";
import { bytes, engines, floats, garbage, ownFloats, sharedNumbers, sizes } from "./garbage";
import { note } from "./journal";
import { outcome, type Tally } from "./outcome";
import type { Pool } from "./pool";

type Kind = "addon" | "buffer" | "device" | "program";

/** A function of the addon and arguments that it might like; `free` ones use their object up. */
interface Target {
  kind: Kind;
  name: string;
  likely: fc.Arbitrary<unknown>[];
  accessor?: true;
}

const options = fc.oneof(
  fc.record({
    threads: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.constantFrom(0, -1, 1.5, 1025, Number.NaN, "2", null)),
    isa: fc.oneof(fc.constantFrom("best", "plain", "avx2", "avx512", "amx"), garbage),
    reference: fc.oneof(fc.boolean(), garbage),
  }),
  garbage,
);

const gpuOptions = fc.oneof(
  fc.record({
    index: fc.oneof(fc.integer({ min: 0, max: 3 }), garbage),
    imageDir: fc.oneof(fc.constantFrom("/nowhere", ""), garbage),
    image: fc.oneof(fc.constantFrom("", "sm_90a"), garbage),
  }),
  options,
);

const perhaps = (...args: fc.Arbitrary<unknown>[]) => args.map((arg) => fc.oneof(arg, fc.constant(undefined)));

const texts = fc.record({ text: fc.constantFrom("", "one", "one\0two", "\0"), count: fc.oneof(fc.nat(3), garbage) });

/** Of pictures of 2×2 pixels, most of the time. */
const sides = fc.oneof({ weight: 6, arbitrary: fc.constant(2) }, { weight: 1, arbitrary: sizes });
const pixels = fc.oneof(
  fc.constantFrom(12, 12, 12, 0, 3, 11).map((count) => new Uint8Array(count).fill(200)),
  fc.constant(12).map((count) => new Uint8Array(new SharedArrayBuffer(count))),
);
const levels = fc.constantFrom(256, 256, 256, 255, 0).map((count) => new Float32Array(count).fill(0.5));
const planes = fc.oneof(
  fc.constantFrom(12, 12, 3, 13).map((count) => new Float32Array(count)),
  fc.constant(12).map((count) => allocateFloats(count)),
  fc.constant(12).map((count) => new Float32Array(new SharedArrayBuffer(4 * count))),
);
const threads = fc.constantFrom(0, 1, 2, 300);
/** Of results of three samples, most of the time inside the picture. */
const positions = fc
  .array(fc.oneof({ weight: 8, arbitrary: fc.nat(1) }, { weight: 1, arbitrary: fc.integer() }), {
    minLength: 2,
    maxLength: 3,
  })
  .map((values) => Int32Array.from(values));
const taps = [positions, positions, fc.int32Array({ minLength: 3, maxLength: 6 })];
const channels = fc.constantFrom(3, 3, 3, 0, 4).map((count) => new Float32Array(count).fill(0.5));
const normalisation = perhaps(channels, channels);
const runs = [positions, fc.constantFrom(0, 1, 2, 2 ** 24, -1), fc.float64Array({ minLength: 2, maxLength: 6 })];

const TARGETS: readonly Target[] = [
  { kind: "addon", name: "allocateBuffer", likely: [sizes] },
  { kind: "addon", name: "mapFile", likely: [garbage] },
  { kind: "addon", name: "openDevice", likely: [gpuOptions] },
  { kind: "addon", name: "mersenneDraws", likely: [engines] },
  {
    kind: "addon",
    name: "fillNormals",
    likely: [
      engines,
      sharedNumbers,
      fc.constantFrom(1, 0.02, -3),
      fc.nat(3),
      fc.oneof(fc.constant(undefined), sharedNumbers),
      fc.constantFrom("best", "plain", "avx2"),
    ],
  },
  {
    kind: "addon",
    name: "resizePicture",
    likely: [pixels, sides, sides, ...perhaps(...taps), ...perhaps(...taps), threads],
  },
  {
    kind: "addon",
    name: "resamplePicture",
    likely: [
      fc.oneof(pixels, fc.constant(new Float32Array(12))),
      sides,
      sides,
      levels,
      ...runs,
      ...runs,
      ...normalisation,
      threads,
    ],
  },
  {
    kind: "addon",
    name: "pictureToPlanes",
    likely: [pixels, levels, ...perhaps(planes), fc.boolean(), threads],
  },
  { kind: "addon", name: "cpuIsa", likely: [] },
  { kind: "addon", name: "opIds", likely: [] },
  { kind: "addon", name: "listGpus", likely: [garbage] },
  { kind: "addon", name: "startDriver", likely: [] },
  { kind: "addon", name: "startNvtx", likely: [garbage] },
  { kind: "addon", name: "startNvtxRange", likely: [garbage] },
  { kind: "addon", name: "endNvtxRange", likely: [fc.bigInt()] },
  { kind: "addon", name: "startCupti", likely: [fc.array(garbage, { maxLength: 2 })] },
  { kind: "addon", name: "stopCupti", likely: [] },
  { kind: "addon", name: "takeKernels", likely: [] },
  { kind: "buffer", name: "readFloats", likely: [sizes, fc.nat(7), sizes, sizes, sizes] },
  {
    kind: "buffer",
    name: "readFloats",
    likely: [fc.nat(9), fc.nat(2), fc.nat(3), fc.nat(3), fc.nat(3), fc.oneof(floats, sharedNumbers, ownFloats)],
  },
  { kind: "addon", name: "allocateFloats", likely: [sizes] },
  { kind: "addon", name: "touchFloats", likely: [fc.oneof(floats, sharedNumbers, ownFloats)] },
  { kind: "buffer", name: "readBytes", likely: [sizes, sizes] },
  {
    kind: "buffer",
    name: "readBytes",
    likely: [
      fc.nat(9),
      fc.nat(16),
      fc.oneof(floats, sharedNumbers, ownFloats).map(({ buffer }) => new Uint8Array(buffer)),
    ],
  },
  { kind: "device", name: "prepare", likely: [] },
  { kind: "device", name: "allocate", likely: [sizes] },
  { kind: "device", name: "allocateHost", likely: [sizes] },
  { kind: "device", name: "trim", likely: [fc.boolean()] },
  { kind: "buffer", name: "bytes", likely: [], accessor: true },
  { kind: "buffer", name: "writable", likely: [], accessor: true },
  { kind: "buffer", name: "writeSync", likely: [bytes, sizes] },
  { kind: "buffer", name: "readSync", likely: [bytes, sizes] },
  { kind: "buffer", name: "write", likely: [bytes, sizes] },
  { kind: "buffer", name: "writeFloats", likely: [fc.oneof(floats, sharedNumbers), fc.nat(7), sizes] },
  { kind: "addon", name: "largestMagnitude", likely: [fc.oneof(floats, sharedNumbers)] },
  { kind: "buffer", name: "copyFrom", likely: [fc.constant("a buffer"), sizes, sizes, sizes] },
  { kind: "buffer", name: "copyFromSync", likely: [fc.constant("a buffer"), sizes, sizes, sizes] },
  { kind: "buffer", name: "fillSync", likely: [sizes] },
  { kind: "buffer", name: "freeSync", likely: [] },
  { kind: "buffer", name: "free", likely: [] },
  {
    kind: "device",
    name: "compile",
    likely: [
      fc.float64Array({ maxLength: 30 }),
      texts,
      fc.array(garbage, { maxLength: 2 }),
      fc.oneof(
        fc.record({ capture: fc.boolean() }),
        fc.record({ capture: fc.boolean(), variants: texts }),
        fc.constant(undefined),
        garbage,
      ),
    ],
  },
  { kind: "program", name: "run", likely: [fc.boolean()] },
  { kind: "program", name: "cancel", likely: [] },
  { kind: "program", name: "info", likely: [], accessor: true },
];

/** How the receiver, the constructor and the arguments of one call are chosen. */
const call = fc.constantFrom(...TARGETS).chain((target) =>
  fc.record({
    target: fc.constant(target),
    asConstructor: fc.integer({ min: 0, max: 19 }).map((n) => n === 0),
    receiver: fc.nat(30),
    wrongReceiver: fc.integer({ min: 0, max: 7 }).map((n) => n === 0),
    args: fc.tuple(
      ...target.likely.map((likely) =>
        fc.oneof(
          { weight: 4, arbitrary: likely },
          { weight: 1, arbitrary: garbage },
          { weight: 1, arbitrary: fc.constant("a buffer") },
        ),
      ),
    ),
    extra: fc.array(garbage, { maxLength: 1 }),
    cut: fc.integer({ min: 0, max: 5 }),
    object: fc.nat(30),
  }),
);

type Call = typeof call extends fc.Arbitrary<infer T> ? T : never;

function receiversOf(pool: Pool, kind: Kind): object[] {
  if (kind === "addon") return [pool.addon];
  if (kind === "buffer") return pool.buffers.map((slot) => slot.get());
  return kind === "device" ? pool.devices : pool.programs;
}

function functionOf(owner: object, { name, accessor }: Target): (...args: unknown[]) => unknown {
  if (!accessor) return (owner as Record<string, (...args: unknown[]) => unknown>)[name]!;
  return Object.getOwnPropertyDescriptor(Object.getPrototypeOf(owner), name)!.get!;
}

async function perform(pool: Pool, tally: Tally, { target, ...how }: Call): Promise<void> {
  const everything = pool.everything();
  const pick = (index: number) => everything[index % everything.length];
  const all = [...how.args, ...how.extra].map((arg, i) => (arg === "a buffer" ? pick(how.object + i) : arg));
  const args = how.cut === 0 ? all.slice(0, -1) : all;
  const receivers = receiversOf(pool, target.kind);
  const right = receivers[how.receiver % receivers.length]!;
  const receiver = how.wrongReceiver ? [...all, pick(how.receiver)][how.object % (all.length + 1)] : right;
  note(`${how.asConstructor ? "new " : ""}${target.kind}.${target.name}`, { receiver, args });
  if (how.asConstructor) {
    const Constructor = (target.kind === "addon" ? functionOf(right, target) : right.constructor) as new (
      ...a: unknown[]
    ) => object;
    await outcome(tally, () => Reflect.construct(Constructor, args));
  } else await outcome(tally, () => Reflect.apply(functionOf(right, target), receiver, args));
}

/** Calls every function of the addon with anything, on anything. */
export async function fuzzCalls(pool: Pool, tally: Tally, numRuns: number, seed: number): Promise<void> {
  let done = 0;
  await fc.assert(
    fc.asyncProperty(call, async (each) => {
      await perform(pool, tally, each);
      if (++done % 16 === 0) pool.renew();
      if (done % 512 === 0) globalThis.gc?.();
    }),
    { numRuns, seed, endOnFailure: true },
  );
}
