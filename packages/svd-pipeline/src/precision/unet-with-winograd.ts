import { type Graph, pausable, winogradConvolutions } from "@vd/tensor";
import type { Unet, UnetInputs } from "../models/index";

const winograd = winogradConvolutions();

/** Returns the UNet with Winograd's transforms in its 3x3 convolutions where a GPU gains by them: whoever records a call of it records
 *  those. */
export function unetWithWinograd(unet: Unet): Unet {
  const forward = pausable(function* (g: Graph, inputs: UnetInputs) {
    let isDone = false;
    g.rewriteCalls((op, call, record) => (isDone ? record(op, call) : winograd(op, call, record)));
    const prediction = yield* unet.forward.inPieces(g, inputs);
    isDone = true;
    return prediction;
  });
  return { ...unet, forward };
}
