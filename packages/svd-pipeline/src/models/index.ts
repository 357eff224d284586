export * from "./clip-vision/index";
export * from "./unet/index";
