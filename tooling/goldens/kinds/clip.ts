import { clipVision, parseClipVisionConfig } from "@vd/svd-pipeline";
import { type Graph, Weights } from "@vd/tensor";
import type { GoldenKind } from "../kind";
import { hooked, runModel } from "../model-run";

/** CLIP's vision encoder with projection. */
export const clipKind: GoldenKind = {
  kind: "clip",
  async *run(fixture, context) {
    const weights = Weights.open(fixture.tensorsPath).scope("w");
    const model = clipVision(weights, parseClipVisionConfig(fixture.json.config));
    const [batch, channels, height, width] = fixture.shape("in.pixel_values") as [number, number, number, number];
    const build = (g: Graph) => {
      const y = model(g, g.layoutIn({ x: g.input("pixels", [batch, 1, channels, height, width]) }));
      g.output("image_embeds", y.imageEmbeds);
      g.output("pooled", y.pooled);
      g.output("last_hidden_state", y.lastHiddenState);
    };
    const results = ["last_hidden_state", "pooled", "image_embeds"].map((ours) => ({ golden: `out.${ours}`, ours }));
    const expectations = [...hooked(fixture), ...results];
    yield* runModel({ fixture, context, build, inputs: { pixels: fixture.float32("in.pixel_values") }, expectations });
    weights.expectAllUsed();
  },
};
