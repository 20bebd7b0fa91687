import {
  type PassageUsed,
  SessionAdminService,
  type SessionTurn,
  type ToolCalled,
  type TurnRecord,
} from "@parley/rpc/conversation";
import { useMayCall } from "../api/session.ts";
import { formatDateTime } from "../components/dates.ts";
import { Markdown } from "./markdown.tsx";
import { Rating } from "./rating.tsx";
import { Review, ReviewBadge } from "./review.tsx";

const STATUSES: Readonly<Record<string, string>> = {
  streaming: "Being answered",
  error: "Failed",
  blocked: "Blocked",
  quota_exceeded: "No messages left",
  cancelled: "Stopped, or the visitor left",
  interrupted: "Interrupted",
};

/** Explains the codes of failed and blocked turns. An owner may have chosen another code for a moderation rule. */
const REASONS: Readonly<Record<string, string>> = {
  provider_auth: "the provider of the model refused the access. Tell the operator",
  provider_rate_limited: "the provider of the model had too many requests",
  provider_timeout: "the model did not answer in time",
  provider_error: "the provider of the model had a fault",
  busy: "too many answers were running",
  internal_error: "Parley had a fault. Tell the operator if it happens again",
  blocked_pattern: "by a moderation rule",
  refusal: "the model refused to answer",
};

const TOOL_STATUSES: Readonly<Record<string, string>> = {
  ok: "worked",
  failed: "failed",
  timeout: "did not answer in time",
  too_large: "answered with too much text",
  invalid_arguments: "called with values that do not fit",
  unknown_tool: "the bot has no such tool",
  not_allowed: "not allowed",
  over_limit: "not called, because there were too many calls",
};

type TurnProps = {
  turn: SessionTurn;
  /** The passages' texts by chunk ID. */
  passages: ReadonlyMap<bigint, string>;
  /** The address of the page where the conversation started, or empty. */
  page: string;
};

/** A visitor's message, its reply, and the passages and tools that the reply used. */
export function Turn({ turn: { turn, message, reply, rating, ratingReason, review }, passages, page }: TurnProps) {
  const mayReview = useMayCall(SessionAdminService.method.reviewMessage);
  if (turn === undefined) return null;
  const statusText = STATUSES[turn.status];
  const reason = turn.errorCode || turn.blockedReason;
  return (
    <article className="turn" aria-label={formatDateTime(turn.openedAt)}>
      <div className="bubble visitor">
        <span className="visually-hidden">Visitor: </span>
        <p dir="auto">{message}</p>
      </div>
      <div className="reply">
        <div className={reply === "" ? "bubble no-reply" : "bubble"}>
          <span className="visually-hidden">Bot: </span>
          {reply === "" ? "No answer" : <Markdown text={reply} page={page} />}
        </div>
        <p className="reply-facts">
          {statusText && (
            <span className="badge">
              {statusText}
              {reason && `: ${REASONS[reason] ?? reason}`}
            </span>
          )}
          <Rating rating={rating} />
          {!mayReview && <ReviewBadge review={review} />}
          {describeTurn(turn).map((fact) => (
            <span key={fact}>{fact}</span>
          ))}
        </p>
        {ratingReason !== "" && (
          <p className="rating-reason" dir="auto">
            <span className="visually-hidden">The visitor’s reason: </span>
            {ratingReason}
          </p>
        )}
        {mayReview && turn.status !== "streaming" && (
          <Review sessionId={turn.sessionId} messageId={turn.messageId} review={review} />
        )}
        {turn.knowledge.length > 0 && <Knowledge used={turn.knowledge} passages={passages} />}
        {turn.tools.length > 0 && <Tools called={turn.tools} />}
        <TechnicalDetails turn={turn} />
      </div>
    </article>
  );
}

function describeTurn(turn: TurnRecord): string[] {
  const { openedAt, firstTokenMs, latencyMs, finishDetail } = turn;
  const facts = [formatDateTime(openedAt)];
  if (finishDetail === "length") facts.push("cut, because the answer became too long");
  if (finishDetail === "declined") facts.push("said that it has no answer");
  if (firstTokenMs > 0) facts.push(`first word after ${formatSeconds(firstTokenMs)}`);
  if (latencyMs > 0) facts.push(`ended after ${formatSeconds(latencyMs)}`);
  return facts;
}

function formatSeconds(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

type KnowledgeProps = { used: readonly PassageUsed[]; passages: ReadonlyMap<bigint, string> };

function Knowledge({ used, passages }: KnowledgeProps) {
  return (
    <details className="evidence">
      <summary>{used.length === 1 ? "1 passage of knowledge" : `${used.length} passages of knowledge`}</summary>
      <ul>
        {used.map(({ chunkId, source, heading }) => (
          <li key={String(chunkId)}>
            <strong>{source || "A document that was removed or replaced since"}</strong>
            {heading && ` · ${heading}`}
            {passages.has(chunkId) && <p dir="auto">{passages.get(chunkId)}</p>}
          </li>
        ))}
      </ul>
    </details>
  );
}

function Tools({ called }: { called: readonly ToolCalled[] }) {
  return (
    <details className="evidence">
      <summary>{called.length === 1 ? "1 tool call" : `${called.length} tool calls`}</summary>
      <ul>
        {called.map(({ name, status, latencyMs }, index) => (
          // The name is not a unique key: a turn may call a tool several times.
          <li key={index}>
            <strong>{name}</strong> · {TOOL_STATUSES[status] ?? status} · {formatSeconds(latencyMs)}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** What the operator may ask for; nothing if no model answered. */
function TechnicalDetails({ turn: { model, tokensIn, tokensOut, status, errorCode } }: { turn: TurnRecord }) {
  const details = [
    status === "done" && model !== "" && `Model ${model}`,
    tokensOut > 0 && `${tokensIn.toLocaleString()} tokens in, ${tokensOut.toLocaleString()} out`,
    errorCode !== "" && `Code ${errorCode}`,
  ].filter((each) => each !== false);
  if (details.length === 0) return null;
  return (
    <details className="evidence">
      <summary>Technical details</summary>
      <ul>
        {details.map((detail) => (
          <li key={detail}>{detail}</li>
        ))}
      </ul>
    </details>
  );
}
