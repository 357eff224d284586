/** The path by which native code finds a file: in Electron, files that are outside of an archive (`app.asar.unpacked`) have
 *  paths inside it (`app.asar`) as far as JavaScript goes. Returns other paths as they are.
 *
 *  Source: Electron's documentation, "ASAR Archives". */
export function unpackedPath(path: string): string {
  return process.versions.electron === undefined ? path : path.replace(/\.asar(?=[\\/])/, ".asar.unpacked");
}
