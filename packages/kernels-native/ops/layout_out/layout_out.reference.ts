import { at, type PlainCall, type PlainResults, plain } from "../../contract/reference";

/** layout_out by its indices. */
export default function layoutOut(call: PlainCall): PlainResults {
  const x = call.operand("x");
  const [B, F, H, W, C] = x.dims as [number, number, number, number, number];
  const y = plain(
    [B, F, C, H, W],
    (b, f, c, h, w) => call.number("scale") * at(x, b, f, h, w, c) + call.number("shift"),
  );
  return { y };
}
