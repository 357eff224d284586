export * from "./attention";
export * from "./conv";
export * from "./embedding";
export * from "./feed-forward";
export * from "./linear";
export * from "./module";
export * from "./norm";
export * from "./res-block";
