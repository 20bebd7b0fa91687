import { expect, test } from "vitest";
import { connectionsOf, placeShards } from "./plan.ts";

const serversOf = (count: number, servers: string[], existing: [number, string][] = []) =>
  placeShards({ database: "parley", shardCount: count, servers }, new Map(existing)).map(({ server }) => server);

test("spreads the shards evenly over the servers", () => {
  expect(serversOf(5, ["a", "b"])).toEqual(["a", "b", "a", "b", "a"]);
});

test("leaves existing shards where they are, and places the others on the emptiest servers", () => {
  expect(
    serversOf(
      4,
      ["a", "b", "c"],
      [
        [0, "a"],
        [2, "a"],
      ],
    ),
  ).toEqual(["a", "b", "a", "c"]);
});

test("counts the connections of both pools, of every role and router, and those of the migrations", () => {
  expect(connectionsOf(4, { routers: 1, poolSize: 5, aliasPoolSize: 2 })).toBe(4 * 3 * 7 + 24);
  expect(connectionsOf(16, { routers: 2, poolSize: 5, aliasPoolSize: 2 })).toBe(2 * 16 * 3 * 7 + 24);
});
