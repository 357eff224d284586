import type { NetworkInterfaceInfo } from "node:os";
import { expect, it } from "vitest";
import { networkAddresses } from "../src/network-addresses";

const at = (address: string, internal = false) =>
  ({ address, internal, family: address.includes(":") ? "IPv6" : "IPv4" }) as NetworkInterfaceInfo;
const lo = [at("127.0.0.1", true), at("::1", true)];

it("names what other machines reach, version 4 first, and nothing that is this machine's alone", () => {
  const wlan = [at("169.254.3.4"), at("192.168.1.7"), at("fe80::1"), at("2001:db8::7")];
  expect(networkAddresses({ lo, wlan, eth: [at("10.0.0.3")] })).toEqual(["192.168.1.7", "10.0.0.3"]);
  expect(networkAddresses({ lo, wlan: [at("fe80::1"), at("2001:db8::7")] })).toEqual(["2001:db8::7"]);
  expect(networkAddresses({ lo, gone: undefined })).toEqual([]);
});

it("asks the system where nothing is given", () => {
  expect(networkAddresses().every((address) => !address.startsWith("127."))).toBe(true);
});
