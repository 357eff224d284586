import { type CaseOf, defineCases } from "../../contract/define-case";
import groupNormStats from "./group_norm_stats.op";

type Case = CaseOf<typeof groupNormStats>;

const stats = (name: string, x: number[], attrs: Case["attrs"] = {}, inputs: Case["inputs"] = {}): Case => ({
  name,
  inputs: { x, ...inputs },
  attrs: { groups: 8, eps: 1e-5, ...attrs },
});

const joined = { joinFrames: true };

/** Positive numbers: means and variances. */
const moments = (dims: number[]) => ({ dims, fill: { mean: 2, deviation: 0.2 } });
/** Of 13 channels and 5 beside them. */
const besideMoments = (batch: number, frames: number) => ({
  x2: [batch, frames, 4, 3, 5],
  moments: moments([batch, frames, 13, 2]),
  moments2: moments([batch, frames, 5, 2]),
});

export default defineCases(groupNormStats, {
  correctness: [
    stats("per frame", [2, 3, 5, 7, 24]),
    stats("joined", [2, 3, 5, 7, 24], joined),
    stats("one pixel", [1, 2, 1, 1, 32], { groups: 4 }),
    stats("one group", [1, 2, 3, 4, 7], { groups: 1 }),
    stats("many pixels", [1, 1, 60, 41, 16], { groups: 2 }),
    stats("big mean", [1, 2, 8, 8, 16], {}, { x: { dims: [1, 2, 8, 8, 16], fill: { mean: 50, deviation: 1 } } }),
    stats("eps 0", [1, 1, 6, 5, 16], { eps: 0 }),
    stats("on a gap", [2, 2, 4, 3, 24], {}, { x: { dims: [2, 2, 4, 3, 24], gap: 7 } }),
    { ...stats("result on a gap", [2, 2, 4, 3, 24]), outGap: 3 },
    stats("two inputs", [2, 2, 4, 3, 16], {}, { x2: [2, 2, 4, 3, 8] }),
    stats(
      "two inputs, a group across both, joined",
      [1, 2, 4, 3, 13],
      { groups: 3, ...joined },
      { x2: { dims: [1, 2, 4, 3, 5], gap: 4 } },
    ),
    stats("from moments", [2, 3, 5, 7, 24], {}, { moments: moments([2, 3, 24, 2]) }),
    stats("from moments, joined, on gaps", [2, 3, 5, 7, 24], joined, { moments: { ...moments([2, 3, 24, 2]), gap: 3 } }),
    stats("from moments of two, a group across both", [1, 2, 4, 3, 13], { groups: 3 }, besideMoments(1, 2)),
    stats("from moments of two, joined", [2, 5, 4, 3, 13], { groups: 3, ...joined }, besideMoments(2, 5)),
    stats("from moments of 200 channels a group", [1, 2, 3, 3, 400], { groups: 2, ...joined }, { moments: moments([1, 2, 400, 2]) }),
    stats("x f16", [1, 2, 3, 5, 24], {}, { x: { dims: [1, 2, 3, 5, 24], dtype: "f16" } }),
  ],
  bench: [
    stats("tiny.vae.up3.res0.temporal.norm1", [1, 14, 128, 128, 64], { groups: 32, ...joined }),
    stats("svd-xt.vae.up3.res0.temporal.norm1", [1, 25, 576, 1024, 128], { groups: 32, ...joined }),
  ],
});
