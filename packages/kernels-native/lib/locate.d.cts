/** Folder of the addons, one folder a system: `linux-x64/vd-native.node`, … */
export const prebuildsDir: string;
/** Returns the path of the addon for this machine.
 *  @throws Error of node-gyp-build where there is none */
export function packagedAddon(): string;
/** Returns the folder of the device code that `@vd/kernels-cuda` has, or undefined where that optional package is not
 *  installed. */
export function installedImageDir(): string | undefined;
