import { affineAndModulated, type PlainCall, type PlainResults } from "../../contract/reference";

/** rms_norm by the definition of the root mean square. */
export default function rmsNorm(call: PlainCall): PlainResults {
  const x = call.operand("x");
  const channels = x.dims[3]!;
  const data = new Float64Array(x.data.length);
  for (let token = 0; token < data.length; token += channels) {
    const squares = x.data.subarray(token, token + channels).reduce((sum, value) => sum + value ** 2, 0);
    const root = Math.sqrt(squares / channels + call.number("eps"));
    for (let c = 0; c < channels; c++) data[token + c] = x.data[token + c]! / root;
  }
  return { y: affineAndModulated(call, { dims: x.dims, data }) };
}
