import { randomInt } from "node:crypto";
import { expect, test } from "vitest";
import { createPublicKey, isPublicKey } from "./public-key.ts";

const newKey = () => createPublicKey("svc_pk_", (below) => randomInt(below));

test("createPublicKey returns distinct keys that isPublicKey accepts, each with the prefix and 32 base62 characters", () => {
  const keys = Array.from({ length: 1_000 }, newKey);
  for (const key of keys) {
    expect(key).toMatch(/^svc_pk_[0-9A-Za-z]{32}$/);
    expect(isPublicKey("svc_pk_", key)).toBe(true);
  }
  expect(new Set(keys).size).toBe(1_000);
});

test("the checksum does not change, so that issued keys stay valid", () => {
  expect(createPublicKey("svc_pk_", () => 0)).toBe("svc_pk_000000000000000000000000003vSKjy");
});

test("isPublicKey refuses a key that has one wrong character, another length or another prefix", () => {
  const key = newKey();
  const body = key.slice("svc_pk_".length);
  for (let place = 0; place < body.length; place++) {
    const other = body[place] === "a" ? "b" : "a";
    expect(isPublicKey("svc_pk_", `svc_pk_${body.slice(0, place)}${other}${body.slice(place + 1)}`)).toBe(false);
  }
  for (const text of ["", "svc_pk_", key.slice(0, -1), `${key}0`, ` ${key}`, `${key}\n`, body, `other_pk_${body}`]) {
    expect(isPublicKey("svc_pk_", text)).toBe(false);
  }
});
