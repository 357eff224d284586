import { foldedCross, parseUnetConfig, tokenCross, unet } from "@vd/svd-pipeline";
import { type Graph, Weights } from "@vd/tensor";
import type { Fixture, GoldenContext, GoldenKind, TensorCheck } from "../kind";
import { hooked, runModel } from "../model-run";

/** One call of the spatio-temporal UNet with its intermediate tensors. */
export const unetKind: GoldenKind = {
  kind: "unet",
  async *run(fixture: Fixture, context: GoldenContext): AsyncGenerator<TensorCheck> {
    const config = parseUnetConfig(fixture.json.config);
    const weights = Weights.open(fixture.tensorsPath).scope("w");
    const model = unet(weights, config);
    const [batch, frames, channels, height, width] = fixture.shape("in.sample") as [
      number,
      number,
      number,
      number,
      number,
    ];
    const [, numTokens, contextDim] = fixture.shape("in.encoder_hidden_states") as [number, number, number];
    const build = (g: Graph) => {
      const planes = g.input("sample", [batch, frames, channels, height, width]);
      const context = g.input("context", [batch, 1, numTokens, contextDim]);
      const framesBias = g.empty([1, frames, 1, model.framesWidth]);
      const vectors = g.empty([batch, 1, 1, model.crossWidth]);
      if (numTokens === 1) model.condition(g, context, vectors, framesBias);
      else model.conditionFrames(g, framesBias);
      const y = model.forward(g, {
        sample: g.layoutIn({ x: planes }),
        timestep: g.input("timestep", [1, 1], "f32"),
        addedTimeIds: g.input("addedTimeIds", fixture.shape("in.added_time_ids"), "f32"),
        conditioning: { cross: numTokens === 1 ? foldedCross(vectors) : tokenCross(context), frames: framesBias },
      });
      g.output("sample", y);
    };
    const inputs = {
      sample: fixture.float32("in.sample"),
      context: fixture.float32("in.encoder_hidden_states"),
      timestep: fixture.float32("in.timestep"),
      addedTimeIds: fixture.float32("in.added_time_ids"),
    };
    const last = config.blockOutChannels.length - 1;
    const hooks = hooked(fixture).map((e) => ({ ...e, ours: e.ours.replace("_blocks.-1", `_blocks.${last}`) }));
    yield* runModel({
      fixture,
      context,
      build,
      inputs,
      expectations: [...hooks, { golden: "out.sample", ours: "sample" }],
    });
    weights.expectAllUsed();
  },
};
