import { dot, type Plain, type PlainCall, type PlainResults, roundToE4m3, roundToInt8 } from "../../contract/reference";

/** x with each head of each frame rounded to 8 bits and back. */
function rounded(x: Plain, heads: number, type: string): Plain {
  if (type === "full") return x;
  const [B, F, S, E] = x.dims as [number, number, number, number];
  const head = E / heads;
  const largest = new Float64Array(B * F * heads);
  const setOf = (i: number) => Math.floor(i / (S * E)) * heads + Math.floor((i % E) / head);
  x.data.forEach((value, i) => {
    const set = setOf(i);
    largest[set] = Math.max(largest[set]!, Math.abs(value));
  });
  const data = x.data.map((value, i) => {
    const scale = Math.max(Math.fround(largest[setOf(i)]! / (type === "i8" ? 127 : 448)), 2 ** -126);
    const v = Math.fround(value * Math.fround(1 / scale));
    return scale * (type === "i8" ? roundToInt8(v) : roundToE4m3(v));
  });
  return { dims: x.dims, data };
}

/** attention_q8 by the definition of attention over rounded operands. */
export default function attentionQ8(call: PlainCall): PlainResults {
  const heads = call.number("heads");
  const q = rounded(call.operand("q"), heads, call.word("scores"));
  const k = rounded(call.operand("k"), heads, call.word("scores"));
  const v = rounded(call.operand("v"), heads, call.word("values"));
  const [B, F, S, E] = q.dims as [number, number, number, number];
  const [L, head] = [k.dims[2]!, E / heads];
  const y = { dims: q.dims, data: new Float64Array(B * F * S * E) };
  for (let row = 0; row < B * F * S * heads; row++) {
    const [h, s] = [row % heads, Math.floor(row / heads) % S];
    const frame = Math.floor(row / heads / S);
    const [b, f] = [Math.floor(frame / F), k.dims[1] === 1 ? 0 : frame % F];
    const rowOf = (l: number) => ((b * k.dims[1]! + f) * L + l) * E;
    const query = (frame * S + s) * E + h * head;
    const scores = Array.from(
      { length: L },
      (_, l) => call.number("scale") * dot(q.data, query, k.data, rowOf(l) + h * head, head),
    );
    const highest = Math.max(...scores);
    const powers = scores.map((score) => Math.exp(score - highest));
    const sum = powers.reduce((total, power) => total + power, 0);
    powers.forEach((power, l) => {
      const value = rowOf(l) + h * head;
      for (let d = 0; d < head; d++) y.data[query + d]! += (power / sum) * v.data[value + d]!;
    });
  }
  return { y };
}
