import { nodeFlags } from "@parley/test-support";
import { expect, onTestFinished } from "vitest";
import { chat } from "../system/chat.ts";
import { createPlan, waitUntilSettled } from "../system/database.ts";
import { root } from "../system/processes.ts";
import { createTenant, type System, type Tenant } from "../system/system.ts";
import { openTerminal, type Terminal } from "../system/terminal.ts";

const ESCAPE = "\u001b";
/** Shows the cursor and leaves the alternate screen. */
export const RESTORE_SCREEN = `${ESCAPE}[?25h${ESCAPE}[?1049l`;
export const CLEAR_SCREEN = `${ESCAPE}[2J`;
export const RED_TEXT = `${ESCAPE}[31m`;
/** Starts a synchronized update. Each refresh of `parley top` is one. */
const START_UPDATE = `${ESCAPE}[?2026h`;

export const TOP_COMMAND = [process.execPath, ...nodeFlags, `${root}packages/cli/src/main.ts`, "top"].join(" ");

/** Creates a tenant that has exhausted its quota. Returns it with the environment variables of `parley top`. */
export async function prepareTop({ system, env }: { system: System; env: Record<string, string> }): Promise<{
  env: Record<string, string>;
  exhaustedTenant: Tenant;
}> {
  await createPlan(system.database, "cap-2", 2);
  const exhaustedTenant = await createTenant(system.admin, { plan: "cap-2" });
  const finishReasons: unknown[] = [];
  for (let turn = 0; turn < 3; turn++)
    finishReasons.push((await chat(system.url(), exhaustedTenant)).done?.finish_reason);
  expect(finishReasons).toEqual(["stop", "stop", "quota_exceeded"]);
  // The tests check the tenant's usage and holds, so these must not change any more.
  await waitUntilSettled(system.database, 10_000);
  return { env: { ...env, PARLEY_EDGE_URL: `http://127.0.0.1:${system.edges[0]?.opsPort}` }, exhaustedTenant };
}

/** Runs a command in a terminal until the test has finished. */
export function openTop(env: Record<string, string>, command = TOP_COMMAND): Terminal {
  // The machine may set NO_COLOR, which turns colours off. An empty value leaves them on.
  const terminal = openTerminal(command, { TERM: "xterm-256color", NO_COLOR: "", ...env });
  onTestFinished(() => terminal.kill());
  return terminal;
}

/** Returns the output of each refresh. */
export const splitRefreshes = (screen: string) => screen.split(START_UPDATE).slice(1);
