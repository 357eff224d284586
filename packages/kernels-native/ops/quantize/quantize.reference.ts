import { at, type PlainCall, type PlainResults, plain, roundToE4m3, roundToInt8 } from "../../contract/reference";

/** quantize; the roundings to float32 are part of the definition. */
export default function quantize(call: PlainCall): PlainResults {
  const x = call.operand("x");
  const [b, f, s, c] = x.dims as [number, number, number, number];
  const per = call.word("per");
  const isInt8 = call.resultType === "i8";
  const given = call.optional("scale");
  const width = per === "block" ? 128 : c;
  const dims = per === "tensor" ? [1, 1, 1, 1] : [b, f, s, Math.ceil(c / width)];
  const scales =
    given ?? plain(dims, (i, j, t, g) => largest(x, per === "tensor" ? undefined : [i!, j!, t!], g! * width, width));
  const scaleOf = (magnitude: number) => Math.max(Math.fround(magnitude / (isInt8 ? 127 : 448)), 2 ** -126);
  const used = given ?? { dims, data: scales.data.map(scaleOf) };
  const y = plain(x.dims, (i, j, t, k) => {
    const inverse = Math.fround(1 / at(used, i!, j!, t!, Math.floor(k! / width)));
    const v = Math.fround(at(x, i!, j!, t!, k!) * inverse);
    return isInt8 ? roundToInt8(v) : roundToE4m3(v);
  });
  return { y, scales: used };
}

/** The largest magnitude of all of x, or of `width` channels of a token from `from` on; NaN does not count. */
function largest(
  x: { dims: readonly number[]; data: Float64Array },
  token: readonly number[] | undefined,
  from: number,
  width: number,
) {
  const c = x.dims[3]!;
  const first = token ? ((token[0]! * x.dims[1]! + token[1]!) * x.dims[2]! + token[2]!) * c + from : 0;
  const last = token ? first + Math.min(width, c - from) : x.data.length;
  let found = 0;
  for (let i = first; i < last; i++) if (Math.abs(x.data[i]!) > found) found = Math.abs(x.data[i]!);
  return found;
}
