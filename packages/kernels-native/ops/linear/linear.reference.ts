import { linearOf, type PlainCall, type PlainResults } from "../../contract/reference";

/** linear by the definition of a matrix product. */
export default (call: PlainCall): PlainResults => ({ y: linearOf(call) });
