export * from "./loopback";
export * from "./machine";
export * from "./network-addresses";
export * from "./read-options";
export * from "./watch-outputs";
