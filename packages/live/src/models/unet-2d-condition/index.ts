export { type ConditionLevel, parseUnet2dConditionConfig, type Unet2dConditionConfig } from "./config";
export { type TimeConditions, type Unet2dCondition, type Unet2dConditionCall, unet2dCondition } from "./unet";
