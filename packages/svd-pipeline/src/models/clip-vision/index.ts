export { type ClipVisionOutputs, clipVision } from "./clip-vision";
export { type ClipVisionConfig, parseClipVisionConfig } from "./config";
