export * from "./plain";
export { PLAIN_OPS as REFERENCES } from "./reference";
