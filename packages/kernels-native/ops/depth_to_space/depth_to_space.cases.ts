import { type CaseOf, defineCases } from "../../contract/define-case";
import depthToSpace from "./depth_to_space.op";

type Case = CaseOf<typeof depthToSpace>;

const blocks = [
  [1, 1, 1],
  [1, 2, 2],
  [2, 2, 2],
  [1, 3, 1],
  [1, 1, 4],
  [2, 1, 3],
] as const;

export default defineCases(depthToSpace, {
  correctness: [
    ...blocks.flatMap(([t, h, w]) =>
      (["channels_first", "channels_last"] as const).map(
        (order): Case => ({
          name: `${t}x${h}x${w}, ${order}`,
          inputs: { x: [2, 2, 3, 4, 5 * t * h * w] },
          attrs: { block: [t, h, w], order },
        }),
      ),
    ),
    {
      name: "on gaps",
      inputs: { x: { dims: [1, 2, 3, 4, 24], gap: 5 } },
      attrs: { block: [2, 2, 2], order: "channels_last" },
      outGap: 7,
    },
    { name: "x bf16", inputs: { x: { dims: [1, 1, 4, 4, 8], dtype: "bf16" } }, attrs: { block: [1, 2, 2] } },
  ],
  bench: [
    {
      name: "seedvr.up0.upsample",
      inputs: { x: [1, 5, 64, 64, 4096] },
      attrs: { block: [2, 2, 2], order: "channels_last" },
    },
  ],
});
