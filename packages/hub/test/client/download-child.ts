import { resolveModel } from "../../src/index";

// Run by concurrency.test.ts: takes everything but the name from the environment, as a user's process does.
resolveModel(process.argv[2] ?? "").then(
  ({ dir }) => console.log(dir),
  (error) => {
    console.error(error);
    process.exitCode = 1;
  },
);
