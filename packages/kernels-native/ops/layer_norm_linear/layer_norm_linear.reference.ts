import { layerNormed, linearOf, type PlainCall, type PlainResults, withOperands } from "../../contract/reference";

/** layer_norm_linear: layer_norm, then linear. */
export default function layerNormLinear(call: PlainCall): PlainResults {
  const norm = { weight: call.optional("normWeight"), bias: call.optional("normBias") };
  return { y: linearOf(withOperands(call, { x: layerNormed(withOperands(call, norm)) })) };
}
