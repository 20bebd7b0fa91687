import { expect, test } from "vitest";
import { MAX_SILENCE_MS, parseDoctorRequest } from "./doctor-request.ts";

const parse = (body: object) => parseDoctorRequest(Buffer.from(JSON.stringify(body)));

test("accepts a whole number of milliseconds as silence_ms, and uses 0 if it is missing", () => {
  expect(parse({ public_key: "k" })).toEqual({ publicKey: "k", silenceMs: 0 });
  expect(parse({ public_key: "k", silence_ms: MAX_SILENCE_MS })).toEqual({ publicKey: "k", silenceMs: MAX_SILENCE_MS });
});

test.each([-1, 1.5, MAX_SILENCE_MS + 1, "20", null, true])("refuses %j as silence_ms", (silence) => {
  expect(() => parse({ public_key: "k", silence_ms: silence })).toThrow("invalid_message");
});
