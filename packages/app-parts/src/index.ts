export * from "./loopback";
export * from "./machine";
export * from "./read-options";
export * from "./watch-outputs";
