import { clipRange, type Graph, pausable, type Tensor } from "@vd/tensor";
import type { Models } from "../opening/models";
import { denoiserInputDims, denoiseStage, predict, type StageShape, type StepNeeds } from "../stages/definitions";
import { denoisingStage } from "../stages/generation-stages";
import type { StageDefinition } from "../stages/stage";

/** Rows of guidance: the unconditional one and the conditional one. */
export const NUM_ROWS = 2;

/** Name of the input with row `row` of the prediction. */
export const predictionName = (row: number): string => `prediction ${row}`;

/** Name of the output with row `row` of the next call's input. */
export const inputName = (row: number): string => `input ${row}`;

/** The models with a UNet that does something else. */
function withForward(models: Models, forward: (...args: Parameters<Models["unet"]["forward"]["inPieces"]>) => Tensor) {
  const recorded = pausable(function* (...args: Parameters<Models["unet"]["forward"]["inPieces"]>) {
    const result = forward(...args);
    yield;
    return result;
  });
  return { ...models, unet: { ...models.unet, forward: recorded } };
}

/** Both rows of the prediction, each an input of its own. */
function givenPrediction(g: Graph, models: Models, shape: StageShape): Tensor {
  const [rows, frames, height, width] = denoiserInputDims(models, { ...shape, rows: NUM_ROWS }) as [
    number,
    number,
    number,
    number,
  ];
  const both = g.state("predictions", [rows, frames, height, width, models.unet.config.outChannels]);
  for (let row = 0; row < NUM_ROWS; row++) g.inputs.set(predictionName(row), clipRange(both, row, row + 1));
  return both;
}

/** What only the UNet reads. */
const UNET_INPUTS = ["cross", "frames", "timestep", "addedTimeIds"];

/**
 * Returns what a device does of a denoiser call: one row of it. For a sampler that steps on the device `input` [1,F,h,w,2·C], else `latents`
 * [1,F,C,h,w], `image` and `inputScale` as for `denoiseStage`; with what the UNet reads, of one row → `prediction` [1,F,h,w,C].
 */
export function rowStage(models: Models, shape: StageShape, needs: StepNeeds | undefined): StageDefinition {
  const row: StageShape = { ...shape, rows: 1 };
  const common = { name: "denoise", key: `denoise one row ${needs !== undefined}`, dtype: shape.dtype };
  if (!needs) return { ...common, build: hostRow(models, row) };
  return {
    ...common,
    *build(g) {
      const input = g.input("input", denoiserInputDims(models, row));
      g.output("prediction", yield* predict(g, models, row, input));
    },
  };
}

/** The stage of a sampler that steps on the host, up to the prediction as the UNet returns it. */
function hostRow(models: Models, row: StageShape): StageDefinition["build"] {
  return function* (g) {
    let predicted: { y: Tensor; numRows: number } | undefined;
    const forward = pausable(function* (...args: Parameters<typeof models.unet.forward.inPieces>) {
      const y = yield* models.unet.forward.inPieces(...args);
      predicted = { y, numRows: g.rows.length };
      return y;
    });
    yield* denoiseStage({ ...models, unet: { ...models.unet, forward } }, row).build(g) ?? [];
    g.rows.length = predicted!.numRows; // Planes are made of both rows together.
    g.outputs.delete("prediction");
    g.output("prediction", predicted!.y);
  };
}

/**
 * Returns what follows on both rows' predictions: guidance and, for a sampler that steps on the device, its step. Inputs
 * {@link predictionName} of each row, [1,F,h,w,C], beside those of `sampleStage` or `denoiseStage` but what the UNet reads → their outputs and,
 * for the next call, {@link inputName} of each row, [1,F,h,w,2·C].
 */
export function bothRowsStage(models: Models, shape: StageShape, needs: StepNeeds | undefined): StageDefinition {
  let numRows = 0;
  const given = withForward(models, (g) => {
    numRows = g.rows.length;
    return givenPrediction(g, models, shape);
  });
  const { key, build, ...stage } = denoisingStage(given, shape, needs);
  return {
    ...stage,
    name: "step",
    key: `both rows ${key}`,
    *build(g) {
      yield* build(g) ?? [];
      for (const name of UNET_INPUTS) g.inputs.delete(name);
      if (needs) {
        const input = g.states.get("input")!;
        for (let row = 0; row < NUM_ROWS; row++) g.output(inputName(row), clipRange(input, row, row + 1));
      } else {
        g.rows.splice(0, numRows); // Each row's device has made its input.
        for (const name of ["latents", "image", "inputScale"]) g.inputs.delete(name);
      }
    },
  };
}
