/** Everything a float64 reference needs, in one import. */
export * from "./activations";
export * from "./epilogue";
export * from "./modulation";
export * from "./moments";
export * from "./plain";
