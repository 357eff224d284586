import fc from "fast-check";
import { allocateFloats } from "../../src/index";
import { SENTINEL } from "./outcome";

const hostile = () => ({
  get threads(): number {
    throw SENTINEL;
  },
  get buffer(): never {
    throw SENTINEL;
  },
});

function detached(): Float64Array {
  const array = new Float64Array(8);
  structuredClone(array.buffer, { transfer: [array.buffer] });
  return array;
}

/** An array over a buffer that has become too short for it. */
function shrunk(): Uint8Array {
  const Resizable = ArrayBuffer as unknown as new (
    bytes: number,
    options: object,
  ) => ArrayBuffer & { resize(bytes: number): void };
  const buffer = new Resizable(64, { maxByteLength: 128 });
  const array = new Uint8Array(buffer, 32, 16);
  buffer.resize(8);
  return array;
}

/** An external pointer that another part of the process made. */
function foreignExternal(): unknown {
  return (process.stdout as unknown as { _handle?: { _externalStream?: unknown } })._handle?._externalStream;
}

const numbers = fc.oneof(
  fc.constantFrom(
    0,
    -0,
    1,
    2,
    3,
    7,
    8,
    64,
    4096,
    65536,
    2 ** 31,
    2 ** 32,
    2 ** 40,
    2 ** 46,
    2 ** 53,
    9e15,
    1e19,
    1e300,
  ),
  fc.constantFrom(
    -1,
    -8,
    0.5,
    1e-300,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    Number.MAX_VALUE,
  ),
  fc.integer({ min: -100, max: 100 }),
  fc.double(),
);

const texts = fc.oneof(
  fc.constantFrom(
    "",
    "best",
    "plain",
    "avx2",
    "amx",
    "cpu",
    "a\0b",
    "/",
    "/dev/null",
    "/nowhere/at all",
    "\ud800",
    "é".repeat(300),
  ),
  fc.string(),
);

const arrays = fc.oneof(
  fc.float64Array({ maxLength: 12 }),
  fc.uint8Array({ maxLength: 80 }),
  fc.int16Array({ maxLength: 12 }),
  fc.array(fc.oneof(numbers, texts), { maxLength: 4 }),
);

const oddities = fc.constantFrom<() => unknown>(
  () => undefined,
  () => null,
  () => Symbol("s"),
  () => 12n,
  () => () => 1,
  () => new Proxy([], {}),
  () => new Proxy({}, { get: () => Number.NaN }),
  hostile,
  detached,
  shrunk,
  foreignExternal,
  () => new DataView(new ArrayBuffer(16), 8),
  () => new ArrayBuffer(0),
  () => new ArrayBuffer(32),
  () => new SharedArrayBuffer(32),
  () => new Uint8Array(new SharedArrayBuffer(32)),
  () => new BigInt64Array(4),
  () => Buffer.from("bytes"),
  () => new Date(Number.NaN),
  () => Object.create(null),
  () => Promise.resolve(1),
);

/** Anything at all. */
export const garbage: fc.Arbitrary<unknown> = fc.oneof(
  numbers,
  texts,
  arrays,
  fc.boolean(),
  oddities.map((make) => make()),
  fc.object({ maxDepth: 1 }),
);

/** Whole numbers that fit small buffers, with some garbage among them. */
export const sizes = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 0, max: 128 }) },
  { weight: 1, arbitrary: fc.constantFrom(4095, 4096, 4097) },
  { weight: 2, arbitrary: numbers },
);

/** States of a Mersenne Twister, some of them with a position that is none. */
export const engines = fc
  .oneof(fc.integer({ min: 0, max: 624 }), fc.constantFrom(625, 2 ** 31, 2 ** 32 - 1))
  .map((next) => new Uint32Array(625).fill(12_345, 0, 624).fill(next, 624));

/** Floats in shared memory, few of them or up to some thousands. */
export const sharedNumbers = fc
  .oneof(fc.constantFrom(0, 15, 16, 32), fc.integer({ min: 0, max: 3000 }))
  .map((count) => new Float32Array(new SharedArrayBuffer(4 * count)));

/** Floats in the addon's own memory, and parts of such arrays. */
export const ownFloats = fc
  .tuple(fc.nat(40), fc.nat(3))
  .map(([count, begin]) => allocateFloats(count + begin).subarray(begin));

/** Floats of any kind, few of them or more than a vector has. */
export const floats = fc.float32Array({ maxLength: 40 });

/** Bytes or numbers to copy. */
export const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 128 }),
  fc.float32Array({ maxLength: 32 }),
  fc.nat(128).map((count) => new Uint8Array(new SharedArrayBuffer(count))),
  oddities.map((make) => make()),
);
