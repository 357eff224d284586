import { type CaseOf, defineCases } from "../../contract/define-case";
import { type Case as AttentionCase, OF_UNET, one, space, time, together } from "../attention_f8/attention-of-codes";
import attentionF8Codes from "./attention_f8_codes.op";

type Case = CaseOf<typeof attentionF8Codes>;

/** A case of attention_f8 that leaves codes. yScale: default, an eighth of what values are multiples of, as a mean of many has room for. */
const coded = (call: AttentionCase, yScale = 0.03125): Case => ({
  ...call,
  inputs: { ...call.inputs, yScale: one(yScale) },
  outType: "f8e4m3",
});

export default defineCases(attentionF8Codes, {
  correctness: [
    coded(space("one key", [1, 1, 3, 1, 1, 64])),
    coded(space("small heads", [2, 2, 9, 11, 3, 5])),
    coded(space("heads of 64", [1, 2, 70, 70, 2, 64])),
    coded(space("several blocks of keys", [1, 1, 150, 400, 2, 64])),
    coded(space("one frame of keys", [2, 3, 33, 140, 1, 64], 1)),
    coded(together(space("heads of 64 in two frames", [1, 2, 140, 140, 2, 64]), 256)),
    coded(time("small heads", [2, 3, 5, 4, 3, 5])),
    coded(time("heads of 64", [2, 14, 33, 14, 2, 64])),
    coded(time("25 frames", [1, 25, 21, 25, 5, 64])),
    coded(time("32 frames, one of queries", [1, 1, 9, 32, 2, 64])),
    coded(time("more than 32 frames", [1, 35, 6, 35, 1, 64])),
    coded(together(time("25 frames", [1, 25, 10, 25, 2, 64]), 256)),
    ...[space("scores far apart", [1, 1, 200, 1400, 1, 64]), time("scores far apart", [1, 25, 8, 25, 1, 64])].map(
      (call) => coded({ ...call, inputs: { ...call.inputs, qScale: one(1.25) } }),
    ),
    ...[
      space("beyond the largest code", [1, 1, 40, 2, 1, 64]),
      time("beyond the largest code", [1, 2, 8, 2, 1, 64]),
    ].map((call) => coded(call, 0.002)),
  ],
  bench: OF_UNET.map((call) => coded(call)),
});
