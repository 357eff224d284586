import { type CaseOf, defineCases } from "../../contract/define-case";
import resize from "./resize.op";

type Case = CaseOf<typeof resize>;

const MODES = ["nearest", "bilinear", "bicubic"] as const;
/** From height × width to height × width. */
const SIZES = [
  [5, 7, 10, 14],
  [5, 7, 9, 14],
  [9, 14, 24, 10],
  [11, 9, 7, 20],
  [10, 14, 5, 7],
  [1, 1, 3, 4],
  [6, 5, 1, 1],
  [4, 4, 4, 4],
  [3, 40, 2, 97],
] as const;

const all = MODES.flatMap((mode) =>
  SIZES.flatMap(([h, w, height, width]) =>
    [false, true].map((alignCorners): Case => {
      const name = `${mode} ${h}x${w} to ${height}x${width}${alignCorners ? ", corners" : ""}`;
      return { name, inputs: { x: [1, 2, h, w, 3] }, attrs: { height, width, mode, alignCorners } };
    }),
  ),
);

const onGaps = MODES.map(
  (mode): Case => ({
    name: `${mode} on gaps`,
    inputs: { x: { dims: [2, 2, 4, 5, 13], gap: 6 } },
    attrs: { height: 7, width: 8, mode },
    outGap: 4,
  }),
);

export default defineCases(resize, {
  correctness: [
    ...all,
    ...onGaps,
    { name: "x f16", inputs: { x: { dims: [1, 1, 4, 5, 8], dtype: "f16" } }, attrs: { height: 8, width: 10 } },
  ],
  bench: [
    {
      name: "svd-xt.unet.up0.nearest to an odd size",
      inputs: { x: [2, 25, 9, 16, 1280] },
      attrs: { height: 17, width: 31 },
    },
  ],
});
