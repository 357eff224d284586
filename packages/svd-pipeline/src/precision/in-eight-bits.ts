import { type Graph, pausable } from "@vd/tensor";
import type { Unet, UnetInputs } from "../models/index";
import { type EightBitModel, EightBitRecorder } from "./eight-bit-recorder";

/** Returns the UNet with layers in 8 bits: whoever records a call of it records those. */
export function unetInEightBits(unet: Unet, model: EightBitModel): Unet {
  const forward = pausable(function* (g: Graph, inputs: UnetInputs) {
    let recorder: EightBitRecorder | undefined;
    let isDone = false;
    g.rewriteCalls((op, call, record) => {
      if (isDone) return record(op, call);
      recorder ??= new EightBitRecorder(model, g, record);
      return recorder.add(op, call);
    });
    const prediction = yield* unet.forward.inPieces(g, inputs);
    recorder?.finish();
    isDone = true;
    return prediction;
  });
  return { ...unet, forward };
}
