import { Code, ConnectError } from "@connectrpc/connect";
import { createMethodSerializationLookup } from "@connectrpc/connect/protocol";
import { BotAdminService } from "@parley/rpc/conversation";
import { expect, test } from "vitest";
import { BODY_OPTIONS } from "./admin-bodies.ts";

// Tests patches/@connectrpc__connect. If the test passes without the patch, delete the patch.
test("a malformed binary message is refused with invalid_argument", () => {
  const { binaryOptions, jsonOptions, readMaxBytes } = BODY_OPTIONS;
  const limits = { readMaxBytes, writeMaxBytes: readMaxBytes };
  const lookup = createMethodSerializationLookup(BotAdminService.method.listBots, binaryOptions, jsonOptions, limits);
  let error: unknown;
  try {
    // true: the binary format.
    lookup.getI(true).parse(new Uint8Array([0xff]));
  } catch (cause) {
    error = cause;
  }
  expect(error).toBeInstanceOf(ConnectError);
  expect((error as ConnectError).code).toBe(Code.InvalidArgument);
});
