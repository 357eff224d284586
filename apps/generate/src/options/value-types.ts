/** The types that the app's options have besides numbers and texts, for `option-types.generated.ts`. */
export type { EncoderChoice } from "@vd/media";
