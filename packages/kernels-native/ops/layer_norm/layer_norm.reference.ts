import { affineAndModulated, moments, type PlainCall, type PlainResults } from "../../contract/reference";

/** layer_norm by the definitions of mean and variance. */
export default function layerNorm(call: PlainCall): PlainResults {
  const x = call.operand("x");
  const channels = x.dims[3]!;
  const data = new Float64Array(x.data.length);
  for (let token = 0; token < data.length; token += channels) {
    const [mean, scale] = moments([...x.data.subarray(token, token + channels)], call.number("eps"));
    for (let c = 0; c < channels; c++) data[token + c] = (x.data[token + c]! - mean) * scale;
  }
  return { y: affineAndModulated(call, { dims: x.dims, data }) };
}
