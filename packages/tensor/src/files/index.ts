/** Files that are written whole or not at all, and errors of the file system in words. */
export { fileError, systemCode } from "./file-error";
export { makeFolder } from "./make-folder";
export { discard, discardAll, settled, temporaryName } from "./temporary";
export {
  checkPlace,
  type PlaceOptions,
  placeFile,
  requireFolder,
  requireFree,
  statIfThere,
  syncFolder,
  writeSynced,
  writeWholeFile,
} from "./whole-file";
