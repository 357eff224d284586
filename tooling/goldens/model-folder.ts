import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { VdError } from "@vd/kernels-native";
import type { Fixture } from "./kind";

const REPOSITORY = join(dirname(fileURLToPath(import.meta.url)), "../..");

/** The model that the fixture was made with: beside the fixtures' folder, or in the repository. */
export function modelFolder(fixture: Fixture): string {
  const name = String(fixture.json.model);
  const near = dirname(dirname(dirname(fixture.jsonPath)));
  const found = [join(near, "models", name), join(REPOSITORY, "models", name)].find(existsSync);
  if (found) return found;
  throw new VdError({
    code: "io",
    where: fixture.label,
    expected: `the model ${name} in a folder models/`,
    got: "none",
  });
}
