import { at, type PlainCall, type PlainResults, plain } from "../../contract/reference";

/** layout_in by its indices. */
export default function layoutIn(call: PlainCall): PlainResults {
  const x = call.operand("x");
  const [B, F, C, H, W] = x.dims as [number, number, number, number, number];
  const y = plain(
    [B, F, H, W, C],
    (b, f, h, w, c) => call.number("scale") * at(x, b, f, c, h, w) + call.number("shift"),
  );
  return { y };
}
