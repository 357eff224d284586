import { dtypeIndex, OPS } from "../../contract/index";
import type { Addon, NativeBuffer, NativeProgram } from "../../src/addon-types";
import { note } from "./journal";
import { outcome, type Tally } from "./outcome";

const TOKENS = 256;
const CHANNELS = 8;
const ACTIVATION_BYTES = TOKENS * CHANNELS * 4;
/** Two sequences. */
const OFFSETS = Int32Array.of(0, 100, TOKENS);
/** Runs of each program that shall find good offsets at their start and others later, and how often that is tried. */
const COMPLETED = 2;
const ATTEMPTS = 100;
const ABSENT = [-1, 0, 0, 1, 1, 0, 0, 0, 0, 1];
/** Neither norms nor rotations. */
const ABSENTS = [...ABSENT, ...ABSENT, ...ABSENT, ...ABSENT];

const activations = (buffer: number) => [buffer, 0, dtypeIndex("f32"), 4, 1, 1, TOKENS, CHANNELS, 0, CHANNELS];
const offsets = (byteOffset: number) => [1, byteOffset, dtypeIndex("i32"), 1, 3, 0, 0, 0, 0, 3];

/** Packed attention: q and k are buffer 0, v is buffer 3, the offsets lie at `byteOffset` of buffer 1, the result is
 *  buffer 2. */
function wordsOf(byteOffset: number): Float64Array {
  const attrs = [0, 2, 0.5, 0, 0, 0, 0, 1, 1, 0, 1e-6];
  const inputs = [0, 0, 3].flatMap(activations);
  const cu = offsets(byteOffset);
  return Float64Array.from([
    Object.keys(OPS).indexOf("attention"),
    ...attrs,
    ...inputs,
    ...ABSENT,
    ...cu,
    ...cu,
    ...ABSENTS,
    ...activations(2),
    ...ABSENT,
  ]);
}

/** Numbers whose bits, taken for an offset, lie far outside any tensor; all queries are 0, so means of them result. */
function fillValues(buffer: NativeBuffer): void {
  buffer.writeSync(
    Float32Array.from({ length: TOKENS * CHANNELS }, (_, i) => (i % 2 === 0 ? 1 : -1e30)),
    0,
  );
}

/** Runs packed attention whose offsets are overwritten by the caller while it runs. They are checked before a run, so nothing but the code that reads them can keep it inside its tensors. */
export async function overwriteOffsets(addon: Addon, tally: Tally): Promise<number> {
  let runs = 0;
  for (const reference of [true, false])
    for (const byteOffset of [0, 4, 1000, 4000]) {
      const device = addon.openDevice({ threads: 2, isa: "best", math: "exact", reference });
      const buffers = [0, 1, 2, 3].map(() => ({ buffer: addon.allocateBuffer(ACTIVATION_BYTES), constant: false }));
      const target = buffers[1]!.buffer;
      fillValues(buffers[3]!.buffer);
      target.writeSync(OFFSETS, byteOffset);
      note("packed attention", { reference, byteOffset });
      const program = (await outcome(tally, () =>
        device.compile(wordsOf(byteOffset), { text: "", count: 0 }, buffers),
      )) as NativeProgram;
      let completed = 0;
      for (let attempt = 0; attempt < ATTEMPTS && completed < COMPLETED; attempt++) {
        const running = outcome(tally, () => program.run(false));
        // Good ones now and then, so that the check before the run lets some of them through.
        for (let i = 0; i < 2000; i++) {
          if (i % 2 === 0) target.writeSync(OFFSETS, byteOffset);
          else target.fillSync(i % 4 === 1 ? 127 : 200);
        }
        if ((await running) !== undefined) completed++;
      }
      runs++;
    }
  return runs;
}
