import { at, type Plain, type PlainCall, plain } from "./plain";

/** Applies what follows a norm over channels to the normalised tokens [B,F,S,C]: weight, bias, then (1 + scale) and shift, each
 *  where the call has it. */
export function affineAndModulated(call: PlainCall, normed: Plain): Plain {
  const [weight, bias] = [call.optional("weight"), call.optional("bias")];
  const [scale, shift] = [call.optional("scale"), call.optional("shift")];
  return plain(normed.dims, (b, f, s, c) => {
    const affine = at(normed, b!, f!, s!, c!) * (weight?.data[c!] ?? 1) + (bias?.data[c!] ?? 0);
    return affine * (1 + (scale ? at(scale, b!, f!, s!, c!) : 0)) + (shift ? at(shift, b!, f!, s!, c!) : 0);
  });
}
