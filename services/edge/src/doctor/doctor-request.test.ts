import { expect, test } from "vitest";
import { MAX_SILENCE_MS, parseDoctorRequest } from "./doctor-request.ts";

const parse = (body: object) => parseDoctorRequest(Buffer.from(JSON.stringify(body)));

test("a silence is a whole number of milliseconds, and none unless asked for", () => {
  expect(parse({ public_key: "k" })).toEqual({ publicKey: "k", silenceMs: 0 });
  expect(parse({ public_key: "k", silence_ms: MAX_SILENCE_MS })).toEqual({ publicKey: "k", silenceMs: MAX_SILENCE_MS });
});

test.each([-1, 1.5, MAX_SILENCE_MS + 1, "20", null, true])("a silence of %j is refused", (silence) => {
  expect(() => parse({ public_key: "k", silence_ms: silence })).toThrow("invalid_message");
});
