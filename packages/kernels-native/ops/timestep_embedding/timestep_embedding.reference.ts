import { type PlainCall, type PlainResults, plain } from "../../contract/reference";

/** Every number computed in float64, so that this shows how far float32 angles are off. */
export default function timestepEmbedding(call: PlainCall): PlainResults {
  const t = call.operand("t");
  const width = call.number("width");
  const half = width / 2;
  const y = plain([...t.dims, width], (b, n, channel) => {
    const frequency = call.number("maxPeriod") ** (-(channel % half) / (half - call.number("downscaleShift")));
    const angle = t.data[b * t.dims[1]! + n]! * frequency;
    return channel < half ? Math.cos(angle) : Math.sin(angle);
  });
  return { y };
}
