// What the loader's scenarios use of the packages.
export { Device, isVdError, verifyPrebuilds } from "@vd/kernels-native";
export { compile } from "@vd/tensor";
