import { expect, test } from "vitest";
import { createClientHash } from "./client-hash.ts";

test("the hash is equal on every replica, and depends on the secret, the workspace and the client", () => {
  const hash = createClientHash(() => "Bearer secret");
  const first = hash("w", "192.0.2.1");
  expect(first).toHaveLength(16);
  expect(createClientHash(() => "Bearer secret")("w", "192.0.2.1")).toEqual(first);
  for (const other of [
    createClientHash(() => "Bearer other")("w", "192.0.2.1"),
    hash("v", "192.0.2.1"),
    hash("w", "192.0.2.2"),
    hash("w 192.0.2.1", ""),
  ])
    expect(other).not.toEqual(first);
});
