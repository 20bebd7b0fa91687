import type { EgressErrorCode } from "@parley/service-kit";

/** The most endpoints of a workspace. */
export const MAX_ENDPOINTS = 20;
/** The most undelivered events of an endpoint. The oldest ones above it are dropped. */
export const MAX_PENDING = 100_000;
/** How long deliveries are kept. */
export const KEPT_DAYS = 30;
/** The attempts of a delivery. */
export const MAX_ATTEMPTS = 12;
/** An endpoint whose attempts all failed for this long is disabled. */
export const DISABLED_AFTER_HOURS = 72;

export type EndpointRef = { workspaceId: string; endpointId: string };

export type DisabledReason = "owner" | "gone" | "failing";

/** A delivery that is about to be attempted, with its endpoint's settings. */
export type ClaimedDelivery = EndpointRef & {
  sequence: number;
  eventId: string;
  type: string;
  occurredAt: Date;
  sessionId: string | null;
  data: Record<string, unknown>;
  /** The attempts before this one. */
  attempts: number;
  url: string;
  includeContent: boolean;
  /** Encrypted. Only the current secret, or also the previous one until it expires. */
  secrets: string[];
  /** Whether the endpoint has failed for DISABLED_AFTER_HOURS. */
  isFailingTooLong: boolean;
};

/** The texts of an event, and the address of a contact message. A text is missing if the event has none, or if it was erased. */
export type EventContent = { message?: string; reply?: string; rating_reason?: string; email?: string };

/** The texts of the errors of attempts. */
export const ATTEMPT_ERRORS: Readonly<Record<EgressErrorCode, string>> = {
  timeout: "the server did not respond in time",
  too_large: "the response is too large",
  too_many_redirects: "redirects are not followed",
  unreachable: "the server cannot be reached",
  url_refused: "the URL must begin with http:// or https://, and must not contain a user name or password",
};

/** The result of one attempt. Without a response, `error` has the reason. A redirect has an error too. */
export type Attempt = {
  startedAt: Date;
  durationMs: number;
  status?: number;
  body?: string;
  error?: EgressErrorCode;
  /** How long the response asked to wait. */
  retryAfterSeconds?: number;
};

/** Returns the body of a webhook: the same for every attempt, except for texts that were erased meanwhile. */
export function webhookBody(delivery: ClaimedDelivery, content: EventContent): string {
  const { type, eventId, occurredAt, workspaceId, sequence, data } = delivery;
  return JSON.stringify({
    type,
    id: eventId,
    timestamp: occurredAt.toISOString(),
    workspace_id: workspaceId,
    sequence,
    data: { ...data, ...content },
  });
}

export const isDelivered = ({ status = 0 }: Attempt) => status >= 200 && status < 300;

export const isGone = ({ status }: Attempt) => status === 410;
