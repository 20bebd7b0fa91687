import { expect, test } from "vitest";
import { bodyParser } from "../testing/parse-input.ts";
import { RatingRequest } from "./rating-request.ts";

const valid = { public_key: "k", session_id: "5f0c2d66-7f57-4b8e-8a51-0d6d3a3d9e01", message_id: 1, rating: "down" };
const parse = (fields: object) => bodyParser(RatingRequest)(JSON.stringify({ ...valid, ...fields }));

test.each([{}, { reason: "late" }, { reason: "😀".repeat(1_000) }, { rating: "", reason: "" }])(
  "accepts %j",
  async (fields) => {
    expect(await parse(fields)).toEqual({ ...valid, ...fields });
  },
);

test.each([
  [{ rating: "", reason: "late" }, "reason"],
  [{ reason: "r".repeat(1_001) }, "reason"],
  [{ rating: null, reason: 1 }, "rating"],
  [{ message_id: 1.5, rating: "sideways" }, "message_id"],
])("refuses %j because of %s", async (fields, field) => {
  await expect(parse(fields)).rejects.toMatchObject({
    code: "invalid_message",
    headers: { "Parley-Error-Field": field },
  });
});
