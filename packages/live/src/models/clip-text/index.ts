export { type ClipText, clipText } from "./clip-text";
export { type ClipTextConfig, parseClipTextConfig } from "./config";
export { type ClipTokenizer, type ClipTokenizerFiles, clipTokenizer } from "./tokenizer";
