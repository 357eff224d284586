import type { DType } from "@vd/kernels-native";
import { type Graph, type Pausable, type Recording, tokens } from "@vd/tensor";
import type { FramePart } from "../devices/frame-pipeline";
import type { PlacedTensor } from "../model/frame-memory";
import { recordEncoding, recordNewest, recordSteps } from "./record-stream";
import type { SplitEngineOptions } from "./split-engine";
import type { BatchMemory } from "./stream-memory";

/** What the parts of a stream share and are recorded for. */
export interface SplitStream {
  batch: BatchMemory;
  /** On the autoencoder's device. */
  newest: PlacedTensor;
  dtype: DType;
  steps: number;
}

/** Returns the parts of a frame of a stream: encoding, all steps, decoding. */
export function splitParts(
  { model, devices, width, height, guidance, change, drift }: SplitEngineOptions,
  { batch, newest, dtype, steps }: SplitStream,
): FramePart[] {
  const [denoiser, autoencoder] = devices;
  const { codec } = model;
  const latents = [1, 1, height / codec.factor, width / codec.factor, codec.latentChannels];
  function* encode(g: Graph): Pausable<void> {
    const video = { tensor: g.input("video", [1, 1, height, width, 3], "i8") };
    const blend = { tensor: g.input("blend", [1, 1, 1, 1], "f32") };
    g.output("latents", yield* recordEncoding(g, model, { previous: newest, video, blend }));
  }
  const stepsFrom = (first: boolean): Recording =>
    function* (g: Graph) {
      const program = { steps, guidance, first, change, drift, temporal: false };
      const clean = yield* recordSteps(g, { model, batch, program }, tokens(g.input("latents", latents)));
      g.output("clean", clean);
    };
  function* decode(g: Graph): Pausable<void> {
    const frame = yield* codec.decode(g, g.input("clean", latents));
    g.output("picture", g.framesOut({ name: "frame.levels", x: frame }));
    recordNewest(g, frame, { newest, previous: newest }, { change, drift });
    yield;
  }
  return [
    { name: "encoder", on: autoencoder, dtype, build: encode },
    {
      ...{ name: "denoiser", on: denoiser, dtype, takes: { latents: "latents" } },
      build: stepsFrom(steps === 1),
      variants: { first: stepsFrom(true) },
    },
    { name: "decoder", on: autoencoder, dtype, takes: { clean: "clean" }, build: decode },
  ];
}
