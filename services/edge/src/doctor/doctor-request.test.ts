import { expect, test } from "vitest";
import { bodyParser } from "../testing/parse-input.ts";
import { DoctorRequest, MAX_SILENCE_MS } from "./doctor-request.ts";

const parse = (body: object) => bodyParser(DoctorRequest)(JSON.stringify(body));

test.each([undefined, 0, MAX_SILENCE_MS])("accepts %j milliseconds as silence_ms", async (silence) => {
  expect((await parse({ public_key: "k", silence_ms: silence })).silence_ms).toBe(silence);
});

test.each([-1, 1.5, MAX_SILENCE_MS + 1, "20", null, true])("refuses %j as silence_ms", async (silence) => {
  await expect(parse({ public_key: "k", silence_ms: silence })).rejects.toThrow("invalid_message");
});
