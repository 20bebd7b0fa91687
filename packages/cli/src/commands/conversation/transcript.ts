import { once } from "node:events";
import type { JsonValue } from "@bufbuild/protobuf";
import { SessionAdminService, type SessionSummary, TurnAdminService } from "@parley/rpc/conversation";
import type { CallAdmin } from "../../admin/call.ts";
import { indentedLines, printable, printableJson } from "../../output/printable.ts";
import type { Result } from "../../output/result.ts";
import { formatFields } from "../../output/table.ts";

type TranscriptRequest = { workspaceId: string; sessionId: string };

/** Long enough for a reader that pauses, such as a pager. */
const READ_TIMEOUT_MS = 3_600_000;

/** The fields of the export document (docs/api.md) that showTranscript reads. */
type Transcript = {
  session: {
    id: string;
    bot_slug: string;
    source: string;
    visitor_id: string;
    visitor_verified: boolean;
    consent_version: string;
    consented_at: string;
    started_at: string;
    contact_messages: { email: string; message: string; created_at: string }[];
  };
  messages: {
    id: string;
    role: string;
    content: string;
    model: string;
    status: string;
    rating: string;
    rating_reason: string;
    review: string;
    finish_detail: string;
    created_at: string;
    /** Only of replies whose cost the caller may see and whose model has a price. */
    cost?: string;
    tokens_cached?: number;
  }[];
};

const TURNS_PER_PAGE = 100;

/** Streams the export document to `output`, with invisible characters escaped. */
export async function copyTranscript(
  callAdmin: CallAdmin,
  request: TranscriptRequest,
  output: NodeJS.WritableStream,
): Promise<void> {
  await callAdmin(SessionAdminService, async (service) => {
    const decoder = new TextDecoder();
    for await (const { json } of service.getTranscript(request, { timeoutMs: READ_TIMEOUT_MS })) {
      if (!output.write(printableJson(decoder.decode(json, { stream: true })))) await once(output, "drain");
    }
  });
  output.write("\n");
}

/** Adds the costs of the replies to the messages. */
async function addCosts(callAdmin: CallAdmin, request: TranscriptRequest, messages: Transcript["messages"]) {
  const byId = new Map(messages.map((message) => [message.id, message]));
  let pageToken = "";
  do {
    const page = await callAdmin(TurnAdminService, (service) =>
      service.listTurns({ ...request, pageSize: TURNS_PER_PAGE, pageToken }),
    );
    for (const { turn, cost, tokensCached } of page.turns) {
      const message = cost === "" ? undefined : byId.get(String(turn?.messageId));
      if (message) Object.assign(message, { cost: withoutZeros(cost), tokens_cached: tokensCached });
    }
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
}

/** Returns a decimal without zeros at its end. */
function withoutZeros(decimal: string): string {
  return decimal.includes(".") ? decimal.replace(/\.?0+$/, "") : decimal;
}

/** Returns the export document with reviews, costs, whether the visitor is verified, the consent and the contact messages, as JSON and as text for a terminal that is `columns` wide. */
export async function showTranscript(
  callAdmin: CallAdmin,
  request: TranscriptRequest,
  columns: number,
): Promise<Result> {
  const document = await callAdmin(SessionAdminService, async (service) => {
    const parts: Uint8Array[] = [];
    for await (const { json } of service.getTranscript({ ...request, withReviews: true })) parts.push(json);
    return JSON.parse(Buffer.concat(parts).toString("utf8")) as JsonValue;
  });
  const { session, messages } = document as Transcript;
  await addCosts(callAdmin, request, messages);
  const { source, visitor_id: visitorId, visitor_verified: visitorVerified, consent_version: consent } = session;
  const visitor = describeVisitor({ source, visitorId, visitorVerified });
  const head = formatFields([
    ["session", session.id],
    ["bot", session.bot_slug],
    ["source", source],
    ["visitor", visitor === "" ? visitorId : `${visitorId} (${visitor})`],
    ...(consent === "" ? [] : [["consent", `${consent} (${session.consented_at})`] as [string, string]]),
    ["started", session.started_at],
  ]);
  const left = session.contact_messages.map(
    ({ email, message, created_at }) =>
      `message for the team  ${created_at}  ${printable(email)}\n${indentedLines(message, columns)}`,
  );
  return {
    json: document,
    text: [head, ...messages.map((message) => formatMessage(message, columns)), ...left].join("\n"),
  };
}

/** Whether a token verified the visitor's id. Empty without an id, and in the playground, where the id is the member's. */
export function describeVisitor({
  source,
  visitorId,
  visitorVerified,
}: Pick<SessionSummary, "source" | "visitorId" | "visitorVerified">): "" | "claimed" | "verified" {
  if (visitorId === "" || source === "playground") return "";
  return visitorVerified ? "verified" : "claimed";
}

function formatMessage(message: Transcript["messages"][number], columns: number): string {
  const {
    role,
    content,
    model,
    status,
    rating,
    rating_reason,
    review,
    finish_detail,
    created_at,
    cost = "",
    tokens_cached,
  } = message;
  const detail = { length: "cut at the token limit", declined: "has no answer" }[finish_detail] ?? "";
  const states = [
    status === "done" ? "" : status,
    detail,
    rating && formatRating(rating, rating_reason),
    review && `reviewed ${review}`,
    cost && `cost ${cost}`,
    tokens_cached ? `${tokens_cached} tokens from the cache` : "",
  ];
  const notes = [created_at, model, ...states].filter(Boolean);
  return `${printable(role)}  ${notes.map(printable).join("  ")}\n${indentedLines(content, columns)}`;
}

function formatRating(rating: string, reason: string): string {
  return reason ? `rated ${rating}: ${reason.replace(/\s+/g, " ")}` : `rated ${rating}`;
}
