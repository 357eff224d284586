import {
  addedTo,
  at,
  dot,
  gather,
  mixed,
  type Places,
  type Plain,
  type PlainCall,
  type PlainResults,
  plain,
  sequencesOf,
} from "../../contract/reference";

/** Adds rows [N,D] of one head to a tensor [B,F,S,E]; one frame serves all. */
function scatter(sum: Plain, places: Places, h: number, rows: Plain): void {
  const [, F, S, E] = sum.dims as [number, number, number, number];
  const head = rows.dims[1]!;
  places.forEach(([b, f, s], row) => {
    for (let d = 0; d < head; d++)
      sum.data[((b * F + (F === 1 ? 0 : f)) * S + s) * E + h * head + d]! += rows.data[row * head + d]!;
  });
}

/** a bᵀ for a [M,D] and b [N,D]. */
function products(a: Plain, b: Plain): Plain {
  const [rows, length] = a.dims as [number, number];
  return plain([rows, b.dims[0]!], (i, j) => dot(a.data, i * length, b.data, j * length, length));
}

const transposed = ({ dims, data }: Plain): Plain => plain([dims[1]!, dims[0]!], (i, j) => data[j! * dims[1]! + i!]!);

const zeros = ({ dims, data }: Plain): Plain => ({ dims, data: new Float64Array(data.length) });

/** Gradients of attention: with p = exp(score − lse) and ds = p · (dy vᵀ − delta), dv = pᵀ dy, dq = scale · ds k and
 *  dk = scale · dsᵀ q. */
export default function attentionBackward(call: PlainCall): PlainResults {
  const [q, k, v, dy] = ["q", "k", "v", "dy"].map((name) => call.operand(name)) as [Plain, Plain, Plain, Plain];
  const [y, lse] = [call.operand("y"), call.operand("lse")];
  const [heads, scale] = [call.number("heads"), call.number("scale")];
  const head = q.dims[3]! / heads;
  const [, F, S, E] = q.dims as [number, number, number, number];
  // In the order in which `products` adds: where a query sees one key, their difference is 0.
  const delta = plain(lse.dims, (b, f, h, s) => {
    const first = ((b! * F + f!) * S + s!) * E + h! * head;
    return dot(dy.data, first, y.data, first, head);
  });
  const [dq, dk, dv] = [zeros(q), zeros(k), zeros(v)];
  for (const sequence of sequencesOf(call))
    for (let h = 0; h < heads; h++) {
      const { queryPlaces, keyPlaces } = sequence;
      if (queryPlaces.length === 0 || keyPlaces.length === 0) continue;
      const rowOf = (x: Plain, row: number) => {
        const [b, f, s] = queryPlaces[row]!;
        return x.data[((b * lse.dims[1]! + f) * heads + h) * lse.dims[3]! + s]!;
      };
      const [ownQ, ownDy] = [gather(q, queryPlaces, h, head), gather(dy, queryPlaces, h, head)];
      const [ownK, ownV] = [gather(k, keyPlaces, h, head), gather(v, keyPlaces, h, head)];
      const [dots, addedOf] = [products(ownQ, ownK), addedTo(call, sequence, h)];
      const p = plain(dots.dims, (row, key) => {
        const added = addedOf(row!, key!);
        if (added === Number.NEGATIVE_INFINITY || rowOf(lse, row!) === Number.NEGATIVE_INFINITY) return 0;
        return Math.exp(scale * at(dots, row!, key!) + added - rowOf(lse, row!));
      });
      const dp = products(ownDy, ownV);
      const ds = plain(p.dims, (row, key) => scale * at(p, row!, key!) * (at(dp, row!, key!) - rowOf(delta, row!)));
      scatter(dq, queryPlaces, h, mixed(ds, ownK));
      scatter(dk, keyPlaces, h, mixed(transposed(ds), ownQ));
      scatter(dv, keyPlaces, h, mixed(transposed(p), ownDy));
    }
  return { delta, dq, dk, dv };
}
