import { networkInterfaces } from "node:os";

/**
 * Returns the addresses by which other machines of the network reach this one: those of version 4 where there are any, else those of version 6. Link-local
 * ones are left out, since a browser needs more than them. interfaces: as the system has them.
 */
export function networkAddresses(interfaces: ReturnType<typeof networkInterfaces> = networkInterfaces()): string[] {
  const all = Object.values(interfaces).flatMap((addresses) => addresses ?? []);
  const reached = all.filter(({ internal, address }) => !internal && !/^(169\.254\.|fe[89ab].:)/i.test(address));
  const of = (family: string) => reached.filter((each) => each.family === family).map(({ address }) => address);
  const [four, six] = [of("IPv4"), of("IPv6")];
  return four.length > 0 ? four : six;
}
