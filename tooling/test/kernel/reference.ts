// Evaluates the float64 reference of an op of one operand over numbers: reference.ts ROOT OP NUMBER... prints a line of JSON. Run
// by new-op.test.ts in a copy of the repository.
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [root = "", id = "", ...numbers] = process.argv.slice(2);
const path = join(root, "packages/kernels-native/ops/references.generated.ts");
const { REFERENCES, plainCall } = await import(pathToFileURL(path).href);
const x = { dims: [1, 1, 1, numbers.length], data: Float64Array.from(numbers, Number) };
console.log(JSON.stringify([...REFERENCES[id](plainCall({ x }, {})).y.data]));
