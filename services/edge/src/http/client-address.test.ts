import { expect, test } from "vitest";
import { addressBucket, countedBuckets, networkBucket } from "./client-address.ts";

test.each([
  ["1.2.3.4", "1.2.3.4"],
  ["::ffff:1.2.3.4", "1.2.3.4"],
  ["::ffff:102:304", "1.2.3.4"],
  ["::FFFF:1.2.3.4", "1.2.3.4"],
  ["0:0:0:0:0:ffff:102:304", "1.2.3.4"],
  // IPv4-translated.
  ["::ffff:0:1.2.3.4", "1.2.3.4"],
  // NAT64, with the well-known prefix and a local one.
  ["64:ff9b::1.2.3.4", "1.2.3.4"],
  ["64:ff9b::102:304", "1.2.3.4"],
  ["64:ff9b:1::1.2.3.4", "1.2.3.4"],
  ["64:ff9b:1:abcd::102:304", "1.2.3.4"],
  // 6to4: every subnet and host of the client's /48.
  ["2002:102:304::1", "1.2.3.4"],
  ["2002:102:304:ffff:1:2:3:4", "1.2.3.4"],
  // Teredo: servers and ports may differ.
  ["2001:0:4136:e378:8000:63bf:fefd:fcfb", "1.2.3.4"],
  ["2001:0:cb00:7101:0:ffff:fefd:fcfb", "1.2.3.4"],
])("%s has the bucket of the IPv4 address %s", (address, bucket) => {
  expect(addressBucket(address)).toBe(bucket);
  expect(countedBuckets(bucket)).toEqual([{ bucket, factor: 1 }]);
});

test.each([
  ["2001:db8:0:1::1", "2001:db8:0:1::/64"],
  ["2001:db8:0:1:ffff:ffff:ffff:ffff", "2001:db8:0:1::/64"],
  ["2001:db8:0:2::1", "2001:db8:0:2::/64"],
  ["2001:DB8:0:2::1", "2001:db8:0:2::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  // Not Teredo, 6to4 or NAT64.
  ["2001:1::102:304", "2001:1:0:0::/64"],
  ["2003:102:304::1", "2003:102:304:0::/64"],
  ["64:ff9b:2::102:304", "64:ff9b:2:0::/64"],
  ["64:ff9b::1:102:304", "64:ff9b:0:0::/64"],
])("%s has the bucket %s", (address, bucket) => {
  expect(addressBucket(address)).toBe(bucket);
  expect(countedBuckets(bucket)).toHaveLength(3);
});

test("an IPv6 client is also counted in its /56 with 4 times the limit, and in its /48 with 16 times the limit", () => {
  expect(countedBuckets(addressBucket("2001:db8:1:abcd::1"))).toEqual([
    { bucket: "2001:db8:1:abcd::/64", factor: 1 },
    { bucket: "2001:db8:1:ab00::/56", factor: 4 },
    { bucket: "2001:db8:1::/48", factor: 16 },
  ]);
  const buckets = (address: string) => countedBuckets(addressBucket(address)).map(({ bucket }) => bucket);
  expect(buckets("2001:db8:1:1::1").slice(1)).toEqual(["2001:db8:1:0::/56", "2001:db8:1::/48"]);
  expect(buckets("2001:db8:1:ff::1").slice(1)).toEqual(buckets("2001:db8:1:0::1").slice(1));
  expect(buckets("2001:db8:1:100::1").slice(1)).toEqual(["2001:db8:1:100::/56", "2001:db8:1::/48"]);
});

test.each(["garbage", "", "1.2.3", "::/64"])("the address %j shares a bucket with other unreadable ones", (address) => {
  if (address !== "1.2.3") expect(addressBucket(address)).toBe("unknown");
  expect(countedBuckets("unknown")).toEqual([{ bucket: "unknown", factor: 1 }]);
});

test.each(["user:a", "user:2001:db8:0:1::/64", "1.2.3.4", "2001:db8:0:1::/64 x"])(
  "%s is counted only as itself",
  (bucket) => {
    expect(countedBuckets(bucket)).toEqual([{ bucket, factor: 1 }]);
  },
);

test.each([
  ["2001:db8:7:1::1", "2001:db8:7::/48"],
  ["2001:db8:7:ffff:1:2:3:4", "2001:db8:7::/48"],
  ["2001:db8:8::1", "2001:db8:8::/48"],
  ["1.2.3.4", "1.2.3.4"],
  ["2002:102:304:5::1", "1.2.3.4"],
  ["garbage", "unknown"],
])("the network of %s is %s", (address, network) => {
  expect(networkBucket(addressBucket(address))).toBe(network);
});

test("the network of a user is the user", () => {
  expect(networkBucket("user 2001:db8:0:1::/64")).toBe("user 2001:db8:0:1::/64");
});
