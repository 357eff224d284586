// Rows of expressions that have no kernel of their own, and text of which the stand-in of a driver compiles one.
import { OPS } from "../../src/index";

/** What nvcc makes of a template, as far as expressions of one operand in float32 need it. */
export const EXPRESSION_TEXT = [
  ".version 9.0\n.target sm_80\n.address_size 64\n",
  ...["neg", "abs", "sqrt"].map(
    (name) => `.visible .func  (.param .b32 func_retval0) elementwise_exact_${name}(
\t.param .b32 elementwise_exact_${name}_param_0
)
{
\tld.param.f32 \t%f1, [elementwise_exact_${name}_param_0];
\t${name}.f32 \t%f2, %f1;
\tst.param.f32 \t[func_retval0+0], %f2;
\tret;
}`,
  ),
  ".visible .entry elementwise_f32_compiled1(\n)\n{\n\tVD_EXPRESSION %f1, %f2;\n\tret;\n}\n",
].join("\n");

/** Memory that {@link expressionRow} works in. */
export const EXPRESSION_BYTES = 2 * 4 * 1024 * 64;

/** Returns a row as `Device.compile` takes it: functions of a, [1,1,1024,64] in buffer 0, one after the other. */
export function expressionRow(functions: string): number[] {
  const names: readonly string[] = OPS.elementwise.attrs.code.values;
  const code = ["a", ...functions.split(" ")].map((name) => names.indexOf(name));
  const tensor = (offset: number) => [0, offset, 0, 4, 1, 1, 1024, 64, 0, 64];
  const absent = [-1, 0, 0, 1, 1, 0, 0, 0, 0, 1];
  const attrs = [...code, ...new Array<number>(16 - code.length).fill(0), 0, 0, 0, 0];
  const op = Object.keys(OPS).indexOf("elementwise");
  return [op, ...attrs, ...tensor(0), ...absent, ...absent, ...absent, ...tensor(EXPRESSION_BYTES / 2)];
}
