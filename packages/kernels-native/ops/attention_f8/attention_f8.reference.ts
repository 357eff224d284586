import {
  dot,
  gather,
  mixed,
  type Plain,
  type PlainCall,
  type PlainResults,
  plain,
  sequencesOf,
} from "../../contract/reference";

/** softmax(scale · q kᵀ) v of one head of one sequence. */
function attend(q: Plain, k: Plain, v: Plain, scale: number): Plain {
  const [[rows, head], keys] = [q.dims as [number, number], k.dims[0]!];
  const scores = plain([rows, keys], (row, key) => scale * dot(q.data, row * head, k.data, key * head, head));
  const shares = plain([rows, keys], () => 0);
  for (let row = 0; row < rows; row++) {
    const own = scores.data.subarray(row * keys, (row + 1) * keys);
    const highest = own.reduce((most, score) => Math.max(most, score), Number.NEGATIVE_INFINITY);
    const sum = own.reduce((total, score) => total + Math.exp(score - highest), 0);
    own.forEach((score, key) => {
      shares.data[row * keys + key] = Math.exp(score - highest) / sum;
    });
  }
  return mixed(shares, v);
}

/** attention_f8: attention of what the codes stand for. */
export default function attentionF8(call: PlainCall): PlainResults {
  const heads = call.number("heads");
  const [q, k, v] = [call.operand("q"), call.operand("k"), call.operand("v")];
  const scaleOf = (name: string) => call.operand(name).data[0]!;
  const scale = call.number("scale") * scaleOf("qScale") * scaleOf("kScale");
  const [, F, S, E] = q.dims as [number, number, number, number];
  const head = E / heads;
  const y: Plain = { dims: q.dims, data: new Float64Array(q.data.length) };
  for (const { queryPlaces, keyPlaces } of sequencesOf(call))
    for (let h = 0; h < heads; h++) {
      const of = (x: Plain, places: typeof keyPlaces) => gather(x, places, h, head);
      const result = attend(of(q, queryPlaces), of(k, keyPlaces), of(v, keyPlaces), scale);
      queryPlaces.forEach(([b, f, s], row) => {
        const to = ((b * F + f) * S + s) * E + h * head;
        for (let d = 0; d < head; d++) y.data[to + d] = result.data[row * head + d]! * scaleOf("vScale");
      });
    }
  return { y };
}
