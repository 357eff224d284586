import { type PlainCall, type PlainResults, plain } from "../../contract/reference";

/** pool by listing every window's numbers. */
export default function pool(call: PlainCall): PlainResults {
  const x = call.operand("x");
  const sizes = x.dims as [number, number, number, number, number];
  const [kernel, stride, padding] = [call.list("kernel"), call.list("stride"), call.list("padding")];
  const space = [sizes[1], sizes[2], sizes[3]];
  const out = space.map((size, i) =>
    Math.floor((size + padding[2 * i]! + padding[2 * i + 1]! - kernel[i]!) / stride[i]! + 1),
  );
  const range = (i: number, place: number) =>
    Array.from({ length: kernel[i]! }, (_, k) => place * stride[i]! - padding[2 * i]! + k).filter(
      (at) => at >= 0 && at < space[i]!,
    );
  const y = plain([sizes[0], ...out, sizes[4]], (b, g, p, q, c) => {
    const values = range(0, g!).flatMap((f) =>
      range(1, p!).flatMap((h) =>
        range(2, q!).map((w) => x.data[(((b! * sizes[1] + f) * sizes[2] + h) * sizes[3] + w) * sizes[4] + c!]!),
      ),
    );
    if (call.word("mode") === "max") return Math.max(...values);
    const count = call.flag("countIncludePad") ? kernel[0]! * kernel[1]! * kernel[2]! : values.length;
    return values.reduce((sum, value) => sum + value, 0) / count;
  });
  return { y };
}
