import { Command } from "@commander-js/extra-typings";
import { expect, test } from "vitest";
import { AdminError } from "../../admin/call.ts";
import type { Context } from "../../context.ts";
import { addAdjustCommands } from "./usage-adjust.ts";

/** Runs `usage adjust` with a service that fails with `code`. Returns the error's message. */
async function adjustAndFail(code: string): Promise<string> {
  const failure = Promise.withResolvers<string>();
  const context = {
    callAdmin: () => Promise.reject(new AdminError(code, "the service's message", undefined)),
    report: (result: Promise<unknown>) => result.catch(({ message }: Error) => failure.resolve(message)),
  } as unknown as Context;
  const usage = new Command("usage").option("--workspace <id>").option("--month <month>");
  addAdjustCommands(usage, context);
  const words = "adjust --workspace w --month 2026-11 --by 1 --reason r --operator o --request-id the-id";
  await usage.parseAsync(words.split(" "), { from: "user" });
  return failure.promise;
}

test("usage adjust names the request ID if the correction may have been made", async () => {
  expect(await adjustAndFail("unreachable")).toBe(
    "the service's message; the correction may have been made; repeat the command with --request-id the-id",
  );
});

test.each(["change_not_recorded", "usage_below_zero"])("usage adjust suggests no repetition after %s", async (code) => {
  expect(await adjustAndFail(code)).toBe("the service's message");
});
