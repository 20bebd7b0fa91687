import { isParleyError, RpcError, status } from "@parley/rpc";
import type { Handoff } from "@parley/rpc/conversation";
import { type Caller, isUuid } from "@parley/service-kit";
import Type, { type Static } from "typebox";
import { HttpError, refused, unavailableError } from "../http/index.ts";
import { HandoffState, toHandoffBody } from "../turns/index.ts";

/** What the rate limit of the endpoints counts, for the OpenAPI document. */
export const COUNTED = "requests about conversations with people";

/** Large enough for the longest text in any script, as JSON. */
export const MAX_MESSAGE_BYTES = 32 * 1024;

export const Params = Type.Object({ session_id: Type.String({ description: "The session." }) });
export const INVALID = refused(
  "The body is not JSON (`invalid_json`), or a field is missing or invalid (`invalid_message`).",
  "invalid_json",
  "invalid_message",
);

export const text = (max: number, description: string) =>
  Type.String({ minLength: 1, "x-not-blank": true, maxLength: max, description });
export const Agent = Type.Object(
  { id: text(200, "The person's id in your own system."), name: text(200, "The name that visitors see.") },
  { title: "Agent", description: "A person of the team." },
);
/** Who answers the visitor, as owners get it: with the agent's id. */
export const OwnedState = Type.Object(
  { ...HandoffState.properties, agent: Type.Optional(Agent) },
  { title: "OwnedHandoffState" },
);

/** Translates an error of HandoffService. */
export function translateError(error: unknown): never {
  if (isParleyError(error, status.NOT_FOUND)) throw new HttpError(404, "session_not_found", {}, { cause: error });
  if (error instanceof RpcError && isParleyError(error, status.FAILED_PRECONDITION))
    throw new HttpError(409, error.code, {}, { cause: error });
  throw unavailableError(error);
}

export function toOwnedState(handoff: Handoff): Static<typeof OwnedState> {
  const { agent } = handoff;
  const { agent: _, ...body } = toHandoffBody(handoff);
  return { ...body, ...(agent && { agent: { id: agent.id, name: agent.name } }) };
}

/** Throws if a member with the role `agent` would write as another person. An owner may, such as a help desk. */
export function requireOwnName({ role, userId }: Caller, agent: Static<typeof Agent> | undefined): void {
  if (role === "agent" && agent?.id !== userId) throw new HttpError(403, "forbidden");
}

export function requireSessionId(id: string): string {
  if (!isUuid(id)) throw new HttpError(404, "session_not_found");
  return id.toLowerCase();
}
