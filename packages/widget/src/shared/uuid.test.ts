import { describe, expect, it } from "vitest";
import { createUuid } from "./uuid.ts";

describe("createUuid", () => {
  it("returns distinct UUIDs of version 4", () => {
    const ids = Array.from({ length: 200 }, createUuid);
    expect(new Set(ids).size).toBe(200);
    for (const id of ids) {
      expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    }
  });
});
