import {
  type MessageSource,
  type PassageUsed,
  SessionAdminService,
  type SessionTurn,
  type ToolCalled,
  type TurnRecord,
} from "@parley/rpc/conversation";
import { useEffect, useRef } from "react";
import { useMayCall } from "../api/session.ts";
import { formatDateTime } from "../components/dates.ts";
import { formatDuration } from "../components/durations.ts";
import { getLocale } from "../i18n/language.ts";
import { plural, t } from "../i18n/t.tsx";
import { Markdown } from "./markdown.tsx";
import { Rating } from "./rating.tsx";
import { Review, ReviewBadge } from "./review.tsx";

const STATUSES: Readonly<Record<string, string>> = {
  streaming: t("Being answered"),
  error: t("Failed"),
  blocked: t("Blocked"),
  quota_exceeded: t("No messages left"),
  cancelled: t("Stopped, or the visitor left"),
  interrupted: t("Interrupted"),
};

/** Explains the codes of failed and blocked turns. An owner may have chosen another code for a moderation rule. */
const REASONS: Readonly<Record<string, string>> = {
  provider_auth: t("the provider of the model refused the access. Tell the operator"),
  provider_rate_limited: t("the provider of the model had too many requests"),
  provider_timeout: t("the model did not answer in time"),
  provider_error: t("the provider of the model had a fault"),
  busy: t("too many answers were running"),
  internal_error: t("Parley had a fault. Tell the operator if it happens again"),
  blocked_pattern: t("by a moderation rule"),
  refusal: t("the model refused to answer"),
};

const TOOL_STATUSES: Readonly<Record<string, string>> = {
  ok: t("worked"),
  failed: t("failed"),
  timeout: t("did not answer in time"),
  too_large: t("answered with too much text"),
  invalid_arguments: t("called with values that do not fit"),
  unknown_tool: t("the bot has no such tool"),
  not_allowed: t("not allowed"),
  over_limit: t("not called, because there were too many calls"),
};

type TurnProps = {
  turn: SessionTurn;
  /** The passages' texts by chunk ID. */
  passages: ReadonlyMap<bigint, string>;
  /** The address of the page where the conversation started, or empty. */
  page: string;
  /** Whether the screen scrolls to this turn. */
  isShownFirst: boolean;
};

/** A visitor's message, its reply, and the passages and tools that the reply used. */
export function Turn(props: TurnProps) {
  const { passages, page, isShownFirst } = props;
  const { turn, message, reply, rating, ratingReason, review, cost, tokensCached, sources } = props.turn;
  const mayReview = useMayCall(SessionAdminService.method.reviewMessage);
  const article = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isShownFirst) article.current?.scrollIntoView();
  }, [isShownFirst]);
  if (turn === undefined) return null;
  const statusText = STATUSES[turn.status];
  const reason = turn.errorCode || turn.blockedReason;
  return (
    <article ref={article} className="turn" aria-label={formatDateTime(turn.openedAt)}>
      <div className="bubble visitor">
        <span className="visually-hidden">{t("Visitor:")} </span>
        <p dir="auto">{message}</p>
      </div>
      <div className="reply">
        <div className={reply === "" ? "bubble no-reply" : "bubble"}>
          <span className="visually-hidden">{t("Bot:")} </span>
          {reply === "" ? t("No answer") : <Markdown text={reply} page={page} />}
          {sources.length > 0 && <Sources sources={sources} />}
        </div>
        <p className="reply-facts">
          {statusText && (
            <span className="badge">
              {reason ? t("{status}: {reason}", { status: statusText, reason: REASONS[reason] ?? reason }) : statusText}
            </span>
          )}
          <Rating rating={rating} />
          {!mayReview && <ReviewBadge review={review} />}
          {[...describeTurn(turn), ...describeCost(cost)].map((fact) => (
            <span key={fact}>{fact}</span>
          ))}
        </p>
        {ratingReason !== "" && (
          <p className="rating-reason" dir="auto">
            <span className="visually-hidden">{t("The visitor’s reason:")} </span>
            {ratingReason}
          </p>
        )}
        {mayReview && turn.status !== "streaming" && (
          <Review sessionId={turn.sessionId} messageId={turn.messageId} review={review} />
        )}
        {turn.knowledge.length > 0 && <Knowledge used={turn.knowledge} passages={passages} />}
        {turn.tools.length > 0 && <Tools called={turn.tools} />}
        <TechnicalDetails turn={turn} tokensCached={tokensCached} />
      </div>
    </article>
  );
}

function describeTurn(turn: TurnRecord): string[] {
  const { openedAt, firstTokenMs, latencyMs, finishDetail } = turn;
  const facts = [formatDateTime(openedAt)];
  if (finishDetail === "length") facts.push(t("cut, because the answer became too long"));
  if (finishDetail === "declined") facts.push(t("said that it has no answer"));
  if (firstTokenMs > 0) facts.push(t("first word after {duration}", { duration: formatDuration(firstTokenMs) }));
  if (latencyMs > 0) facts.push(t("ended after {duration}", { duration: formatDuration(latencyMs) }));
  return facts;
}

/** Returns nothing without a cost. The currency is the operator's. */
function describeCost(cost: string): string[] {
  if (cost === "") return [];
  const value = Number(cost).toLocaleString(getLocale(), { maximumSignificantDigits: 4 });
  return [t("cost {cost}", { cost: value })];
}

/** The sources that the visitor saw below the reply. */
function Sources({ sources }: { sources: readonly MessageSource[] }) {
  return (
    <>
      <p className="sources-title">{t("Sources")}</p>
      <ol className="sources">
        {sources.map(({ number, title, url }) => (
          <li key={number} value={number} dir="auto">
            {url === "" ? (
              title
            ) : (
              <a href={url} target="_blank" rel="noreferrer">
                {title}
              </a>
            )}
          </li>
        ))}
      </ol>
    </>
  );
}

type KnowledgeProps = { used: readonly PassageUsed[]; passages: ReadonlyMap<bigint, string> };

function Knowledge({ used, passages }: KnowledgeProps) {
  return (
    <details className="evidence">
      <summary>{plural(used.length, "{count} passage of knowledge", "{count} passages of knowledge")}</summary>
      <ul>
        {used.map(({ chunkId, source, heading, cited }) => (
          <li key={String(chunkId)}>
            <strong>{source || t("A document that was removed or replaced since")}</strong>
            {heading && ` · ${heading}`} {cited && <span className="badge neutral">{t("cited")}</span>}
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
      <summary>{plural(called.length, "{count} tool call", "{count} tool calls")}</summary>
      <ul>
        {called.map(({ name, status, latencyMs }, index) => (
          // The name is not a unique key: a turn may call a tool several times.
          <li key={index}>
            <strong>{name}</strong> · {TOOL_STATUSES[status] ?? status} · {formatDuration(latencyMs)}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** What the operator may ask for; nothing if no model answered. */
function TechnicalDetails({ turn, tokensCached }: { turn: TurnRecord; tokensCached: number }) {
  const { model, tokensIn, tokensOut, status, errorCode } = turn;
  const details = [
    status === "done" && model !== "" && t("Model {model}", { model }),
    tokensOut > 0 && t("{tokensIn} tokens in, {tokensOut} out", { tokensIn, tokensOut }),
    tokensCached > 0 && t("{count} of the tokens in came from the provider’s cache", { count: tokensCached }),
    errorCode !== "" && t("Code {code}", { code: errorCode }),
  ].filter((each) => each !== false);
  if (details.length === 0) return null;
  return (
    <details className="evidence">
      <summary>{t("Technical details")}</summary>
      <ul>
        {details.map((detail) => (
          <li key={detail}>{detail}</li>
        ))}
      </ul>
    </details>
  );
}
