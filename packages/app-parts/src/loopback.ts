/** Names of this machine for itself, as a `Host` header has them without a port. Any other name may be one that somebody else's name
 *  server points here (DNS rebinding). */
export const LOCAL_NAMES: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/** True for an address to listen at, or of whoever calls, that only this machine can have. */
export const isLoopback = (host: string): boolean => /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/.test(host);
