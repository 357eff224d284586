import { type Graph, pausable, winogradConvolutions } from "@vd/tensor";
import type { Unet, UnetInputs } from "../models/index";

const winograd = winogradConvolutions();

/** Returns the UNet with Winograd's transforms in its 3x3 convolutions where a GPU gains by them: whoever records a call of it records
 *  those, and what follows in the same graph the same way. */
export function unetWithWinograd(unet: Unet): Unet {
  const forward = pausable(function* (g: Graph, inputs: UnetInputs) {
    g.rewriteCalls(winograd);
    return yield* unet.forward.inPieces(g, inputs);
  });
  return { ...unet, forward };
}
