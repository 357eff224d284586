import { defineCases } from "../../contract/define-case";
import attentionF8 from "./attention_f8.op";
import { OF_UNET, one, space, time, together } from "./attention-of-codes";

export default defineCases(attentionF8, {
  correctness: [
    space("one key", [1, 1, 3, 1, 1, 64]),
    space("small heads", [2, 2, 9, 11, 3, 5]),
    space("heads of 64", [1, 2, 70, 70, 2, 64]),
    space("128 keys", [1, 1, 128, 128, 1, 64]),
    space("several blocks of keys", [1, 1, 150, 400, 2, 64]),
    space("one frame of keys", [2, 3, 33, 140, 1, 64], 1),
    space("heads of 40", [1, 1, 20, 37, 2, 40]),
    space("more tiles than blocks at once", [1, 2, 2100, 33, 8, 64]),
    together(space("heads of 64 in two frames", [1, 2, 140, 140, 2, 64]), 256),
    time("one of each", [1, 1, 1, 1, 1, 1]),
    time("small heads", [2, 3, 5, 4, 3, 5]),
    time("heads of 64", [2, 14, 33, 14, 2, 64]),
    time("16 frames", [1, 16, 9, 16, 1, 64]),
    time("25 frames", [1, 25, 21, 25, 5, 64]),
    time("32 frames, one of queries", [1, 1, 9, 32, 2, 64]),
    time("more than 32 frames", [1, 35, 6, 35, 1, 64]),
    time("heads of 48", [1, 9, 7, 9, 2, 48]),
    together(time("25 frames", [1, 25, 10, 25, 2, 64]), 256),
    ...[space("scores next to zero", [1, 1, 40, 140, 1, 64]), time("scores next to zero", [1, 20, 8, 20, 1, 64])].map(
      (call) => ({ ...call, inputs: { ...call.inputs, qScale: one(1e-5) } }),
    ),
    ...[space("scores far apart", [1, 1, 200, 1400, 1, 64]), time("scores far apart", [1, 25, 8, 25, 1, 64])].map(
      (call) => ({ ...call, inputs: { ...call.inputs, qScale: one(1.25) } }),
    ),
    ...[space("negative scale", [1, 1, 20, 30, 1, 64]), time("negative scale", [1, 20, 8, 20, 1, 64])].map((call) => ({
      ...call,
      attrs: { ...call.attrs, scale: -0.125 },
    })),
  ],
  bench: OF_UNET,
});
