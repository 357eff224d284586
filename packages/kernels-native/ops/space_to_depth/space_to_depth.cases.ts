import { type CaseOf, defineCases } from "../../contract/define-case";
import spaceToDepth from "./space_to_depth.op";

type Case = CaseOf<typeof spaceToDepth>;

const blocks = [
  [1, 1, 1],
  [1, 2, 2],
  [2, 2, 2],
  [1, 3, 1],
  [1, 1, 4],
  [2, 1, 3],
] as const;

export default defineCases(spaceToDepth, {
  correctness: [
    ...blocks.map(
      ([t, h, w]): Case => ({
        name: `${t}x${h}x${w}`,
        inputs: { x: [2, 2 * t, 3 * h, 2 * w, 5] },
        attrs: { block: [t, h, w] },
      }),
    ),
    {
      name: "on gaps",
      inputs: { x: { dims: [1, 2, 4, 6, 3], gap: 5 } },
      attrs: { block: [2, 2, 2] },
      outGap: 7,
    },
    { name: "x f16", inputs: { x: { dims: [1, 1, 4, 4, 8], dtype: "f16" } }, attrs: { block: [1, 2, 2] } },
  ],
  bench: [{ name: "patches of 2x2", inputs: { x: [1, 14, 128, 128, 16] }, attrs: { block: [1, 2, 2] } }],
});
