import { layerNormed, type PlainCall, type PlainResults } from "../../contract/reference";

/** layer_norm by the definitions of mean and variance. */
export default (call: PlainCall): PlainResults => ({ y: layerNormed(call) });
