// What the page may ask of the main process.
const { contextBridge, ipcRenderer, webUtils } = require("electron");

contextBridge.exposeInMainWorld("vd", {
  generate: (file) => ipcRenderer.invoke("generate", webUtils.getPathForFile(file)),
  onProgress: (listener) => ipcRenderer.on("progress", (_event, progress) => listener(progress)),
});
