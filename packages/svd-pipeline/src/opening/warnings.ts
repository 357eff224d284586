/** Hears what a model's files leave open or say too much of, as sentences. */
export type WarningListener = (message: string) => void;

/** Tells the process: `process.on("warning", …)` hears it, by default it is printed. */
export const warnProcess: WarningListener = (message) => process.emitWarning(message, "VdWarning");
