import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { RepairResponseSchema, RepairSchema } from "@parley/rpc/conversation";
import { expect, it } from "vitest";
import { AdminError } from "../admin/call.ts";
import type { Context } from "../context.ts";
import { repairUsage } from "./usage-audit.ts";

const REPAIR = create(RepairSchema, { workspaceId: "w", turnId: "t", kind: "reply_not_counted", action: "settle" });

/** Creates a context whose service is unavailable after `successes` calls. */
function createContext(successes: number) {
  const printedErrors: string[] = [];
  let calls = 0;
  const repair = async () => {
    if (++calls > successes) throw new AdminError("unavailable", "try later", new ConnectError("", Code.Unavailable));
    return create(RepairResponseSchema, { repairs: [REPAIR], checked: 5, nextToken: `step ${calls}` });
  };
  const context = {
    callAdmin: (_: unknown, call: (client: unknown) => unknown) => call({ repair }),
    printError: (message: string) => printedErrors.push(message),
  } as unknown as Context;
  return { context, printedErrors };
}

it("if a call after the first fails, repairUsage prints the error, and returns the earlier repairs and exit code 1", async () => {
  const { context, printedErrors } = createContext(2);
  const { json, text, exitCode } = await repairUsage(context, "", "");
  expect(exitCode).toBe(1);
  expect(printedErrors).toEqual([expect.stringMatching(/^try later; not everything was compared/)]);
  expect(json).toMatchObject({ checked: 10, repairs: [{ turn_id: "t" }, { turn_id: "t" }] });
  expect(text).toContain("2 differences repaired among 10 turns and holds.");
});

it("repairUsage reports one repair in the singular", async () => {
  const { context } = createContext(1);
  expect((await repairUsage(context, "", "")).text).toContain("1 difference repaired among 5 turns and holds.");
});

it("repairUsage rejects if the first call fails", async () => {
  const { context, printedErrors } = createContext(0);
  await expect(repairUsage(context, "", "")).rejects.toThrow("try later");
  expect(printedErrors).toEqual([]);
});
