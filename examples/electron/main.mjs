// The main process: a window, and a process of its own that generates, so that neither waits for the other.
// `electron . --headless MODEL PICTURE` makes one video without a window, prints what it did and ends.
import { join } from "node:path";
import { app, BrowserWindow, ipcMain, utilityProcess } from "electron";

const here = import.meta.dirname;
const [model, picture] = process.argv.includes("--headless") ? process.argv.slice(-2) : [process.env.MODEL];

/** A promise of what the generating process answers. */
function generate(request, onProgress) {
  const child = utilityProcess.fork(join(here, "generate.mjs"));
  return new Promise((resolve, reject) => {
    child.on("message", (message) => ("step" in message ? onProgress(message) : resolve(message)));
    child.once("exit", (code) => reject(new Error(`the generating process ended with ${code}`)));
    child.postMessage(request);
  }).finally(() => child.kill());
}

/** Makes one video and ends. */
async function runHeadless() {
  const result = await generate({ model, picture }, () => {});
  console.log(JSON.stringify({ electron: process.versions.electron, ...result }));
  app.exit(result.error ? 1 : 0);
}

/** Opens the window, whose page asks for videos. */
function openWindow() {
  ipcMain.handle("generate", (event, path) =>
    generate({ model, picture: path }, (progress) => event.sender.send("progress", progress)),
  );
  app.on("window-all-closed", () => app.quit());
  return new BrowserWindow({ webPreferences: { preload: join(here, "preload.cjs") } }).loadFile(
    join(here, "index.html"),
  );
}

// Not awaited: Electron is ready only after this module has been loaded.
app
  .whenReady()
  .then(process.argv.includes("--headless") ? runHeadless : openWindow)
  .catch((error) => {
    console.error(error);
    app.exit(1);
  });
