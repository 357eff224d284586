import { layerNormed, type PlainCall, type PlainResults, roundToCode, scaleOfCodes } from "../../contract/reference";

/** layer_norm_q8: layer_norm, then a scale for each token, unless one is given for all, and codes. */
export default function layerNormQ8(call: PlainCall): PlainResults {
  const { dims, data } = layerNormed(call);
  const known = call.optional("yScale")?.data[0];
  const isInt8 = call.resultType === "i8";
  const channels = dims[3]!;
  const codes = new Float64Array(data.length);
  const scales = new Float64Array(data.length / channels);
  for (let token = 0; token < scales.length; token++) {
    const row = data.subarray(token * channels, (token + 1) * channels).map(Math.fround);
    const largest = () => row.reduce((most, v) => Math.max(most, Math.abs(v)), 0);
    scales[token] = known ?? scaleOfCodes(largest(), isInt8);
    codes.set(
      row.map((v) => roundToCode(v, scales[token]!, isInt8)),
      token * channels,
    );
  }
  return { y: { dims, data: codes }, scales: { dims: [...dims.slice(0, 3), 1], data: scales } };
}
