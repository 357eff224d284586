/** Everything a float64 reference needs, in one import. */
export * from "./activations";
export * from "./epilogue";
export * from "./moments";
export * from "./plain";
