import type { DescService } from "@bufbuild/protobuf";
import { CONSOLE_WORKSPACE, requestToken } from "../system/console.ts";
import type { ConsoleSystem } from "./console-system.ts";

export type Body = Record<string, unknown>;

/** Calls a method of an admin service as a script does, about the console's workspace. */
export type CallOverHttp = (
  method: string,
  body?: Body,
) => Promise<{ status: number; code: string | null; body: Body }>;

/** Returns a function that calls with the access token of a member with this role. */
export async function createCaller(
  { sso, consoleProcess }: ConsoleSystem,
  role: string,
  { typeName }: DescService,
): Promise<CallOverHttp> {
  const authorization = `Bearer ${await requestToken(sso, role)}`;
  return async (method, body = {}) => {
    const response = await fetch(`${consoleProcess.url}/api/rpc/${typeName}/${method}`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({ workspaceId: CONSOLE_WORKSPACE, ...body }),
    });
    const { status, headers } = response;
    return { status, code: headers.get("parley-code"), body: (await response.json()) as Body };
  };
}
