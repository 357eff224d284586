import { groupNormed, type PlainCall, type PlainResults } from "../../contract/reference";

/** group_norm by the definitions of mean and variance, or with given ones. */
export default (call: PlainCall): PlainResults => ({ y: groupNormed(call) });
