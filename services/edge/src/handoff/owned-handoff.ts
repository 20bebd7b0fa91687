import { isParleyError, RpcError, status } from "@parley/rpc";
import type { Handoff } from "@parley/rpc/conversation";
import Type, { type Static } from "typebox";
import { HttpError, unavailableError } from "../http/index.ts";
import { HandoffState, toHandoffBody } from "../turns/index.ts";

/** What the rate limit of the endpoints counts, for the OpenAPI document. */
export const COUNTED = "requests about conversations with people";

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
