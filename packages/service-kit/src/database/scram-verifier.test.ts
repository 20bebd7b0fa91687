import { expect, it } from "vitest";
import { createScramVerifier } from "./scram-verifier.ts";

it("a verifier has PostgreSQL's format and a new salt each time", () => {
  const [first, second] = [createScramVerifier("hush hush~!"), createScramVerifier("hush hush~!")];
  expect(first).toMatch(/^SCRAM-SHA-256\$4096:[A-Za-z0-9+/]{22}==\$[A-Za-z0-9+/]{43}=:[A-Za-z0-9+/]{43}=$/);
  expect(second).not.toBe(first);
});

it.each(["", "pässwort", "tab\there", "line\n", "nbsp\u00a0", "del\u007f", "😀"])(
  "a password that is not printable ASCII is refused, and the error does not contain it: %j",
  (password) => {
    const create = () => createScramVerifier(password);
    expect(create).toThrow("the password of the service's role must be printable ASCII");
    if (password !== "") expect(create).not.toThrow(password);
  },
);
