export * from "./loopback";
export * from "./read-options";
