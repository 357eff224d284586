import {
  at,
  biasesAt,
  channelMoments,
  dot,
  type Plain,
  type PlainCall,
  type PlainResults,
  plain,
  scattered,
  withEpilogue,
} from "../../contract/reference";

type Sizes5 = [number, number, number, number, number];

/** The clip behind its past frames. */
function withPast(call: PlainCall): Plain {
  const [x, past] = [call.operand("x"), call.optional("past")];
  if (!past) return x;
  const [b, f, h, w, c] = x.dims as Sizes5;
  const before = past.dims[1]!;
  return plain([b, before + f, h, w, c], (i, frame, ...rest) =>
    frame < before ? at(past, i, frame, ...rest) : at(x, i, frame - before, ...rest),
  );
}

/** The map that is convolved: x behind its past, with its padding around it, grown by nearest neighbour before. */
function framed(call: PlainCall): Plain {
  const x = withPast(call);
  const grow = call.flag("upsample") ? 2 : 1;
  const replicate = call.word("framePadding") === "replicate";
  const [front, back, top, bottom, left, right] = call.list("padding") as [...Sizes5, number];
  const [b, f, h, w, c] = x.dims as Sizes5;
  const dims = [b, f + front + back, grow * h + top + bottom, grow * w + left + right, c];
  return plain(dims, (i, frame, row, column, channel) => {
    const [z, u] = [row - top, column - left];
    const y = replicate ? Math.min(Math.max(frame - front, 0), f - 1) : frame - front;
    if (y < 0 || y >= f || z < 0 || z >= grow * h || u < 0 || u >= grow * w) return 0;
    return at(x, i, y, Math.floor(z / grow), Math.floor(u / grow), channel);
  });
}

/** A correlation without zeros over the framed clip. */
function correlated(call: PlainCall): Plain {
  const x = framed(call);
  const weight = call.operand("weight");
  const [K, D, T, R, S] = weight.dims as Sizes5;
  const [b, F, H, W, C] = x.dims as Sizes5;
  const perGroup = K / call.number("groups");
  const [df, dh, dw] = call.list("stride") as [number, number, number];
  // Channels last, as in the clip.
  const filters = plain([K, T, R, S, D], (k, t, r, s, c) => at(weight, k, c, t, r, s));
  const steps = (size: number, kernel: number, step: number) => Math.floor((size - kernel) / step) + 1;
  return plain([b, steps(F, T, df), steps(H, R, dh), steps(W, S, dw), K], (i, g, p, q, k) => {
    const first = Math.floor(k / perGroup) * D;
    let sum = biasesAt(call, i, g, k);
    for (let t = 0; t < T; t++)
      for (let r = 0; r < R; r++)
        for (let s = 0; s < S; s++) {
          const pixel = (((i * F + g * df + t) * H + p * dh + r) * W + q * dw + s) * C + first;
          sum += dot(x.data, pixel, filters.data, (((k * T + t) * R + r) * S + s) * D, D);
        }
    return sum;
  });
}

/** The sums of a transposed convolution with their biases. */
function transposedSums(call: PlainCall): Plain {
  const sums = scattered(call);
  return plain(sums.dims, (i, g, p, q, k) => at(sums, i, g, p, q, k) + biasesAt(call, i, g, k));
}

/** conv, forwards as a correlation, transposed by adding up what every pixel contributes; moments are those of the whole result. */
export default function conv(call: PlainCall): PlainResults {
  const y = withEpilogue(call, call.flag("transposed") ? transposedSums(call) : correlated(call));
  return { y, moments: channelMoments(y) };
}
