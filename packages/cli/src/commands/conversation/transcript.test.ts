import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import type { CallOptions } from "@connectrpc/connect";
import { expect, test } from "vitest";
import type { CallAdmin } from "../../admin/call.ts";
import { copyTranscript } from "./transcript.ts";

test("an export may take an hour, because its reader may pause", async () => {
  let timeoutMs: number | undefined;
  const service = {
    async *getTranscript(_: object, options?: CallOptions) {
      timeoutMs = options?.timeoutMs;
      yield { json: Buffer.from('{"a":1}') };
    },
  };
  const callAdmin = ((_: unknown, call: (client: typeof service) => Promise<void>) =>
    call(service)) as unknown as CallAdmin;
  const output = new PassThrough();
  await copyTranscript(callAdmin, { workspaceId: "ws_1", sessionId: "s" }, output);
  output.end();
  expect([await text(output), timeoutMs]).toEqual(['{"a":1}\n', 3_600_000]);
});
