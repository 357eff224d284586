import { foldBatchNorm, type Tensor } from "@vd/tensor";
import { toPlanes } from "../layout";
import type { OpCase, OpResult } from "./op-case";

type Three = [number, number, number];
type Six = [number, number, number, number, number, number];

/** Strides and zeros along frames, height and width. */
interface Geometry {
  kernel: Three;
  stride: Three;
  padding: Six;
}

const twoOrThree = (values: readonly number[], missing: number): Three =>
  [missing, missing, missing, ...values].slice(-3) as Three;

/** Zeros that were put around the planes before: the description names the sides in its own order. */
function explicitZeros(current: OpCase): Six {
  const found = /zero padding \(([^)]*)\)\s*=\s*\(([^)]*)\)/i.exec(current.text);
  const zeros: Six = [0, 0, 0, 0, 0, 0];
  if (!found) return zeros;
  const places = ["front", "back", "top", "bottom", "left", "right"];
  const amounts = found[2]!.split(",").map(Number);
  found[1]!.split(",").forEach((side, i) => {
    const place = places.indexOf(side.trim());
    if (place < 0 || amounts[i] === undefined) current.refuse(`unknown side ${side}`);
    zeros[place] = amounts[i];
  });
  return zeros;
}

function geometryOf(current: OpCase): Geometry {
  for (const word of ["dilation", "groups"])
    if (current.number(word, 1) !== 1) current.refuse(`${word} other than 1 are not part of conv`);
  const axes = current.shape("w").length - 2;
  const kernel = twoOrThree(current.shape("w").slice(2), 1);
  const stride = twoOrThree(current.list("stride", axes) ?? Array(axes).fill(1), 1);
  // "zero padding (…)=(…)" is another thing than "padding 1".
  const plain = current.text.replace(/zero padding \([^)]*\)\s*=\s*\([^)]*\)/i, "");
  const same = /padding\s+['"]?same/i.test(plain) ? kernel.map((size) => (size - 1) / 2) : undefined;
  const stated = /\bpadding\s*=?\s*(?:\(([^)]*)\)|(\d+))/i.exec(plain);
  const sides = same ?? (stated ? padsOf(stated, axes) : [0, 0, 0]);
  const zeros = explicitZeros(current);
  return { kernel, stride, padding: zeros.map((zero, i) => zero + sides[i >> 1]!) as Six };
}

function padsOf(stated: RegExpExecArray, axes: number): Three {
  const amounts = stated[2] !== undefined ? [Number(stated[2])] : stated[1]!.split(",").filter(Boolean).map(Number);
  return twoOrThree(amounts.length === 1 ? Array(axes).fill(amounts[0]) : amounts, 0);
}

/** conv1d, conv2d and conv3d. */
export async function convolution(current: OpCase): Promise<OpResult> {
  const { kernel, stride, padding } = geometryOf(current);
  const [cout, cin] = current.shape("w") as [number, number];
  const weight = current.weight("w", [cout, cin, ...kernel]);
  const bias = current.has("b") ? current.weight("b") : undefined;
  const act = /silu/i.test(current.text) ? "silu" : "none";
  const x = current.pixels("x");
  const y = await current.eager.ops.conv({ name: current.name, x, weight, bias, stride, padding, act });
  return planesOf(current, y);
}

/** A convolution, batch norm with running statistics, and SiLU, as one convolution. */
export async function convolutionWithBatchNorm(current: OpCase): Promise<OpResult> {
  const { kernel, stride, padding } = geometryOf(current);
  const [cout, cin] = current.shape("w") as [number, number];
  const folded = foldBatchNorm({
    weight: current.numbers("w"),
    // With a batch norm, `b` and `g` are its shift and scale.
    scale: current.numbers("g"),
    shift: current.numbers("b"),
    mean: current.numbers("mean"),
    variance: current.numbers("var"),
    eps: current.number("eps", 1e-5),
  });
  const weight = current.eager.tensor(folded.weight, [cout, cin, ...kernel], "f32", true);
  const bias = current.eager.tensor(folded.bias, [cout], "f32", true);
  const act = /silu/i.test(current.text) || /silu/.test(current.family) ? "silu" : "none";
  const x = current.pixels("x");
  const y = await current.eager.ops.conv({ name: current.name, x, weight, bias, stride, padding, act });
  return planesOf(current, y);
}

/** A clip in the golden's order. */
export function planesOf(current: OpCase, y: Tensor): OpResult {
  return { values: toPlanes(current.eager.readSync(y), y.dims) };
}
