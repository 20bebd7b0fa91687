import { expect, test } from "vitest";
import { OpenStreamCounts } from "./open-stream-counts.ts";

const client = (index: number) => `2001:db8:1:${index.toString(16)}::/64`;

/** Opens streams of the clients until a limit is full. Returns the number of open streams and the limit. */
function fill(counts: OpenStreamCounts, clients: readonly string[]) {
  for (const each of clients) {
    const full = counts.findFullLimit(each);
    if (full !== undefined) return [counts.total, full];
    counts.add(each);
  }
  return [counts.total, undefined];
}
const indexes = Array.from({ length: 200 }, (_, index) => index);

test("the streams of a client, of its /56 and of its /48 are limited", () => {
  const limits = { maxOpen: 1_000, maxOpenPerClient: 3 };
  expect(fill(new OpenStreamCounts(limits), Array(5).fill(client(1)))).toEqual([3, "client"]);
  expect(fill(new OpenStreamCounts(limits), indexes.map(client))).toEqual([12, "client"]);
  expect(
    fill(
      new OpenStreamCounts(limits),
      indexes.map((index) => client(index * 256)),
    ),
  ).toEqual([48, "client"]);
  expect(fill(new OpenStreamCounts(limits), Array(5).fill("192.0.2.1"))).toEqual([3, "client"]);
});

test("a /48 gets at most half of the process's streams", () => {
  const counts = new OpenStreamCounts({ maxOpen: 50, maxOpenPerClient: 3 });
  expect(
    fill(
      counts,
      indexes.map((index) => client(index * 256)),
    ),
  ).toEqual([25, "client"]);
  expect(
    fill(
      counts,
      Array.from({ length: 50 }, (_, index) => `192.0.2.${index}`),
    ),
  ).toEqual([50, "process"]);
});

test("a removed stream frees its place in all networks", () => {
  const counts = new OpenStreamCounts({ maxOpen: 1_000, maxOpenPerClient: 1 });
  for (const index of [1, 2, 3, 4]) counts.add(client(index));
  expect(counts.findFullLimit(client(5))).toBe("client");
  counts.remove(client(1));
  expect(counts.findFullLimit(client(5))).toBeUndefined();
  expect(counts.total).toBe(3);
});
