import { COUNT, DTYPE_NAMES, FINITE, FLAG, having, listOf, OBJECT, oneOfThese, type Wanted } from "@vd/kernels-native";

/** What was read of a configuration's file. */
export const JSON_OBJECT: Wanted = { ...OBJECT, code: "weights" };

/** Channels of each level of a model. */
export const CHANNELS = listOf(COUNT);

/** Element type of activations. */
export const DTYPE = oneOfThese(DTYPE_NAMES);

/** Of the configuration of an autoencoder, of videos or of pictures. */
export const VAE_CONFIG = {
  ...{ blockOutChannels: CHANNELS, encoderAttention: listOf(FLAG), layersPerBlock: COUNT, scalingFactor: FINITE },
  ...{ inChannels: COUNT, outChannels: COUNT, latentChannels: COUNT },
};

/** A device whose name tells what it can. */
export const OPEN_DEVICE = having(
  "an open device",
  ["kind", "name"],
  "openDevice of @vd/kernels-native opens one; a model has one as `device`.",
);

/** Names of a checkpoint's tensors. */
export const NAMES = having("a Set of names", ["has", Symbol.iterator]);

/** Tensors of a checkpoint, by their names. */
export const ENTRIES = having("a Map of tensors by their names", ["get", "has", Symbol.iterator]);
