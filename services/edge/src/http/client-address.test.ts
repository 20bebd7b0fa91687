import { expect, test } from "vitest";
import { addressBucket } from "./client-address.ts";

test("an IPv4 address has its own bucket, also when mapped into IPv6", () => {
  expect(addressBucket("1.2.3.4")).toBe("1.2.3.4");
  expect(addressBucket("::ffff:1.2.3.4")).toBe("1.2.3.4");
  expect(addressBucket("::ffff:102:304")).toBe("1.2.3.4");
});

test("all addresses of a /64 share one bucket, and the next /64 has another", () => {
  expect(addressBucket("2001:db8:0:1::1")).toBe("2001:db8:0:1::/64");
  expect(addressBucket("2001:db8:0:1:ffff:ffff:ffff:ffff")).toBe("2001:db8:0:1::/64");
  expect(addressBucket("2001:db8:0:2::1")).toBe("2001:db8:0:2::/64");
});

test("invalid addresses share one bucket", () => {
  expect(addressBucket("garbage")).toBe("unknown");
  expect(addressBucket("")).toBe("unknown");
});
