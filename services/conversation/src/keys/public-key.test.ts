import { randomInt } from "node:crypto";
import { expect, test } from "vitest";
import { createPublicKey, parsePublicKey } from "./public-key.ts";

const newKey = (shard?: number) => createPublicKey("svc_pk_", (below) => randomInt(below), shard);

test("createPublicKey returns distinct keys that parsePublicKey accepts, each with the prefix and 32 base62 characters", () => {
  const keys = Array.from({ length: 1_000 }, () => newKey());
  for (const key of keys) {
    expect(key).toMatch(/^svc_pk_[0-9A-Za-z]{32}$/);
    expect(parsePublicKey("svc_pk_", key)).toEqual({ shard: undefined });
  }
  expect(new Set(keys).size).toBe(1_000);
});

test("the checksum does not change, so that issued keys stay valid", () => {
  expect(createPublicKey("svc_pk_", () => 0)).toBe("svc_pk_000000000000000000000000003vSKjy");
  expect(parsePublicKey("svc_pk_", "svc_pk_000000000000000000000000003vSKjy")).toEqual({ shard: undefined });
});

test("a key of a shard has the same length, and names its shard", () => {
  for (let shard = 0; shard < 64; shard++) {
    const key = newKey(shard);
    expect(key).toMatch(/^svc_pk_[0-9A-Za-z]{32}$/);
    expect(parsePublicKey("svc_pk_", key)).toEqual({ shard });
  }
});

test.each([undefined, 7])(
  "parsePublicKey refuses a key of shard %s that has one wrong character, another length or another prefix",
  (shard) => {
    const key = newKey(shard);
    const body = key.slice("svc_pk_".length);
    for (let place = 0; place < body.length; place++) {
      const other = body[place] === "a" ? "b" : "a";
      const wrong = `svc_pk_${body.slice(0, place)}${other}${body.slice(place + 1)}`;
      expect(parsePublicKey("svc_pk_", wrong)).toBeUndefined();
    }
    for (const text of ["", "svc_pk_", key.slice(0, -1), `${key}0`, ` ${key}`, `${key}\n`, body, `other_pk_${body}`]) {
      expect(parsePublicKey("svc_pk_", text)).toBeUndefined();
    }
  },
);
