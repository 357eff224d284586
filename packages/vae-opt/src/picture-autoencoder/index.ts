export { type PictureVaeConfig, parsePictureVaeConfig } from "./config";
export { type PictureVae, pictureVae } from "./picture-vae";
