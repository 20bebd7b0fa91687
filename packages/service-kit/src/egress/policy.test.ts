import { describe, expect, it } from "vitest";
import { EgressPolicy } from "./policy.ts";

describe("refuses by default", () => {
  it.each([
    ["loopback addresses", ["127.0.0.1", "127.255.255.254", "::1"]],
    ["unspecified addresses", ["0.0.0.0", "0.1.2.3", "::"]],
    ["private addresses", ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fd00:ec2::254"]],
    [
      "link-local addresses, including those of cloud metadata",
      ["169.254.169.254", "169.254.170.2", "fe80::1", "fe80::1%eth0"],
    ],
    ["carrier-grade NAT", ["100.64.0.1", "100.100.100.200"]],
    ["addresses of cloud services", ["168.63.129.16", "192.0.0.192"]],
    ["multicast and broadcast addresses", ["224.0.0.1", "255.255.255.255", "ff02::1"]],
    ["reserved, documentation and benchmarking addresses", ["240.0.0.1", "192.0.2.1", "198.18.0.1", "2001:db8::1"]],
    ["site-local addresses", ["fec0::1"]],
    [
      "non-public IPv4 addresses written as IPv6",
      ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "::127.0.0.1"],
    ],
    ["NAT64, 6to4 and Teredo addresses", ["64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2001::1"]],
    ["ISATAP addresses", ["2001:470::5efe:a9fe:a9fe", "2600::200:5efe:10.0.0.1", "fe80::5efe:10.0.0.1"]],
    [
      "IPv6 addresses outside 2000::/3",
      [
        "::a9fe:a9fe",
        "::2",
        "1::1",
        "200::1",
        "400::1",
        "1fff::1",
        "4000::1",
        "5f00::1",
        "8000::1",
        "c000::1",
        "f000::1",
        "fb00::1",
      ],
    ],
    [
      "special ranges within 2000::/3",
      [
        "2001:1::1",
        "2001:2::1",
        "2001:10::1",
        "2001:20::1",
        "2001:1ff::1",
        "2002::1",
        "2620:4f:8000::1",
        "3fff::1",
        "3fff:fff::1",
      ],
    ],
    ["text that is not an address", ["", "localhost", "999.1.1.1", "127.1"]],
  ])("%s", (_, addresses) => {
    const policy = new EgressPolicy();
    expect(addresses.filter((address) => policy.permits(address))).toEqual([]);
  });
});

it("permits public addresses", () => {
  const policy = new EgressPolicy();
  for (const address of [
    "1.1.1.1",
    "93.184.216.34",
    "172.32.0.1",
    "2606:4700:4700::1111",
    "2001:200::1",
    "2600::1:5efe:1:2",
    "3ffe::1",
    "::ffff:1.1.1.1",
  ])
    expect(policy.permits(address), address).toBe(true);
});

it("permits a non-public address only if it is in EGRESS_ALLOW", () => {
  const policy = new EgressPolicy(["10.1.0.0/16", "192.168.7.7", "fd12::/16", "64:ff9b::/96", "::ffff:172.16.0.0/120"]);
  for (const address of ["10.1.2.3", "::ffff:10.1.2.3", "192.168.7.7", "fd12::5", "64:ff9b::101:101", "172.16.0.9"])
    expect(policy.permits(address), address).toBe(true);
  for (const address of ["172.16.1.9", "10.2.0.1", "192.168.7.8", "fd13::5", "127.0.0.1"])
    expect(policy.permits(address), address).toBe(false);
});

it.each(["10.0.0.0/33", "intranet", "10.0.0.0/", "/8"])("refuses %s as a network", (text) => {
  expect(() => new EgressPolicy([text])).toThrow(`"${text}" is neither an address nor a CIDR`);
});
