import { at, type PlainCall, type PlainResults, plain } from "../../contract/reference";

/** guide as the weighted mean of both predictions. */
export default function guide(call: PlainCall): PlainResults {
  const [x, scale] = [call.operand("x"), call.operand("scale").data];
  const y = plain([1, ...x.dims.slice(1)], (_, f, h, w, c) => {
    const [unconditional, conditional] = [at(x, 0, f, h, w, c), at(x, 1, f, h, w, c)];
    return (1 - scale[f]!) * unconditional + scale[f]! * conditional;
  });
  return { y };
}
