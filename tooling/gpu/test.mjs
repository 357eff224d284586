// The conformance suite, goldens and measurements on an NVIDIA GPU: packs everything and runs it here, or says how to run it
// on a machine that has a GPU. Behind `pnpm test:gpu [COMMAND] [OPTIONS]`; commands: see tooling/gpu/pack/run.sh, default all.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ROOT, runMain } from "../build/workspace.mjs";

const PACK = join(ROOT, "build/pack");
const DRIVER = ["/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg"];

function run(program, words, env = {}) {
  const { status } = spawnSync(program, words, { cwd: ROOT, stdio: "inherit", env: { ...process.env, ...env } });
  return status ?? 1;
}

await runMain("test:gpu", async () => {
  const words = process.argv.slice(2).filter((word) => word !== "--");
  const status =
    run(process.execPath, [join(ROOT, "tooling/build/cubins/main.mjs"), "--arch", "90a,ptx80,ptx75", "--quiet"]) ||
    run(process.execPath, [join(ROOT, "tooling/gpu/pack/main.mjs"), "-o", PACK]);
  if (status !== 0) {
    process.exitCode = status;
  } else if (!DRIVER.some((path) => existsSync(path))) {
    console.log(`No NVIDIA GPU here. Copy ${PACK} to a machine with one and its driver, and run there: ./run all`);
    console.log("The results go to reports/gpu: ./run all writes report/<device>.json beside itself.");
  } else {
    process.exitCode = run("sh", [join(PACK, "run"), ...(words.length > 0 ? words : ["all"])], {
      VD_REPORT_DIR: join(ROOT, "reports/gpu"),
    });
  }
});
