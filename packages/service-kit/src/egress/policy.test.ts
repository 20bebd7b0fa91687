import { describe, expect, it } from "vitest";
import { EgressPolicy } from "./policy.ts";

describe("without an exception, an address is refused that is", () => {
  it.each([
    ["loopback", ["127.0.0.1", "127.255.255.254", "::1"]],
    ["unspecified", ["0.0.0.0", "0.1.2.3", "::"]],
    ["private", ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fd00:ec2::254"]],
    ["link-local, where clouds keep their metadata", ["169.254.169.254", "169.254.170.2", "fe80::1", "fe80::1%eth0"]],
    ["carrier-grade NAT", ["100.64.0.1", "100.100.100.200"]],
    ["a cloud's own", ["168.63.129.16", "192.0.0.192"]],
    ["multicast or broadcast", ["224.0.0.1", "255.255.255.255", "ff02::1"]],
    ["reserved, for documentation or for measuring", ["240.0.0.1", "192.0.2.1", "198.18.0.1", "2001:db8::1"]],
    ["site-local", ["fec0::1"]],
    ["an IPv4 address in IPv6's clothes", ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "::127.0.0.1"]],
    ["a way through a translator or tunnel", ["64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2001::1"]],
    ["none at all", ["", "localhost", "999.1.1.1", "127.1"]],
  ])("%s", (_, addresses) => {
    const policy = new EgressPolicy();
    expect(addresses.filter((address) => policy.permits(address))).toEqual([]);
  });
});

it("public addresses are permitted", () => {
  const policy = new EgressPolicy();
  for (const address of ["1.1.1.1", "93.184.216.34", "172.32.0.1", "2606:4700:4700::1111", "::ffff:1.1.1.1"])
    expect(policy.permits(address), address).toBe(true);
});

it("what EGRESS_ALLOW names is permitted, and nothing beside it", () => {
  const policy = new EgressPolicy(["10.1.0.0/16", "192.168.7.7", "fd12::/16"]);
  for (const address of ["10.1.2.3", "::ffff:10.1.2.3", "192.168.7.7", "fd12::5"])
    expect(policy.permits(address), address).toBe(true);
  for (const address of ["10.2.0.1", "192.168.7.8", "fd13::5", "127.0.0.1"])
    expect(policy.permits(address), address).toBe(false);
});

it.each(["10.0.0.0/33", "intranet", "10.0.0.0/", "/8"])("%s is refused as a network", (text) => {
  expect(() => new EgressPolicy([text])).toThrow(`"${text}" is no CIDR`);
});
