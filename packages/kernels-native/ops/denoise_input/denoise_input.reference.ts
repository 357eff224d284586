import { type PlainCall, type PlainResults, plain } from "../../contract/reference";

/** denoise_input by its channels: scaled latents, then the picture in the last row. */
export default function denoiseInput(call: PlainCall): PlainResults {
  const [latents, image] = [call.operand("latents"), call.operand("image")];
  const [, F, H, W, C] = latents.dims as [number, number, number, number, number];
  const [rows, scale] = [call.number("rows"), call.operand("inputScale").data[0]!];
  const y = plain([rows, F, H, W, C + image.dims[4]!], (row, f, h, w, c) => {
    if (c < C) return latents.data[((f * H + h) * W + w) * C + c]! * scale;
    return row === rows - 1 ? image.data[(h * W + w) * image.dims[4]! + c - C]! : 0;
  });
  return { y };
}
