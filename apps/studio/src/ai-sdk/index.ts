/** A provider for the Vercel AI SDK: `experimental_generateVideo` with the models of a vd-studio. */
export { createStudioProvider, type StudioProvider, type StudioProviderOptions } from "./provider";
