import type { DescMethod } from "@bufbuild/protobuf";
import { mayCall, type Role } from "@parley/rpc/access";
import { useQuery } from "@tanstack/react-query";
import { toConnectError } from "./response-error.ts";
import { fetchWithSession, readText, SignedOutError } from "./session-fetch.ts";

/** `role` is absent if the member has none in the workspace. `agent_id` identifies the member when they answer visitors. */
export type Session = { user: string; agent_id: string; workspace_id: string; role?: Role; expires_at: string };

export const SESSION_QUERY = {
  queryKey: ["session"],
  queryFn: fetchSession,
  initialData: readSessionFromPage,
  staleTime: Number.POSITIVE_INFINITY,
};

/** Identifies the user of a session in messages between the console's windows. */
export function sessionKey({ user, workspace_id }: Session): string {
  return JSON.stringify([user, workspace_id]);
}

/** Tells the other windows of the console who has signed in. */
export const SIGNED_IN_CHANNEL = "parley-signed-in";

/** Returns undefined if the backend served the page without a valid session. The query then fetches the session. */
export function readSessionFromPage(): Session | undefined {
  const meta = document.querySelector<HTMLMetaElement>("meta[name=parley-session]");
  return (JSON.parse(meta?.content ?? "null") as Session | null) ?? undefined;
}

async function fetchSession(): Promise<Session> {
  const response = await fetchWithSession("/auth/session");
  if (!response.ok) throw await toConnectError(response);
  return JSON.parse(await readText(response)) as Session;
}

/** Returns the session, which the router loads before it shows a screen. */
export function useSession(): Session {
  const { data } = useQuery(SESSION_QUERY);
  if (data === undefined) throw new SignedOutError();
  return data;
}

export function useMayCall(method: DescMethod): boolean {
  return mayCall(useSession().role, method);
}
