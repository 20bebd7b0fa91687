import { create } from "@bufbuild/protobuf";
import { ListSessionsRequestSchema } from "@parley/rpc/conversation";
import { expect, test } from "vitest";
import { messageToJson } from "./json.ts";

test("messageToJson converts int64 fields to numbers and omits unset optional fields", () => {
  const json = messageToJson(
    ListSessionsRequestSchema,
    create(ListSessionsRequestSchema, { sinceMicroseconds: 1_700_000_000_000_000n }),
  );
  expect(json.since_microseconds).toBe(1_700_000_000_000_000);
  expect(json).not.toHaveProperty("until_microseconds");
});
