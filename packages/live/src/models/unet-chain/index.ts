export { checkUnetChainConfig, REFERENCE_UNET_CHAIN, type UnetChainConfig, unetChainStep } from "./config";
export { type UnetChainSize, unetChainSize } from "./size";
export { type UnetChain, type UnetChainCall, unetChain } from "./unet-chain";
