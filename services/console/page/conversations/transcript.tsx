import type { HandoffMessage, ListTurnsResponse, SessionTurn } from "@parley/rpc/conversation";
import type { RefObject } from "react";
import { formatDateTime } from "../components/dates.ts";
import { t } from "../i18n/t.tsx";
import { Markdown } from "./markdown.tsx";
import { Turn } from "./turn.tsx";

type TranscriptProps = {
  pages: readonly ListTurnsResponse[];
  /** The turn to which the screen scrolls. */
  askedTurn?: SessionTurn | undefined;
  ref?: RefObject<HTMLElement | null>;
};

type Entry = { id: bigint } & ({ turn: SessionTurn } | { message: HandoffMessage });

/** The messages of a conversation in their order: turns of the bot, and messages of and to people. */
export function Transcript({ pages, askedTurn, ref }: TranscriptProps) {
  const passages = new Map(pages.flatMap((page) => page.passages.map(({ chunkId, text }) => [chunkId, text] as const)));
  const page = pages[0]?.session?.referrer ?? "";
  return (
    <section ref={ref} className="transcript" aria-labelledby="messages">
      <h2 id="messages" className="visually-hidden">
        {t("Messages")}
      </h2>
      {pages
        .flatMap(entriesOf)
        .map((entry) =>
          "turn" in entry ? (
            <Turn
              key={String(entry.id)}
              turn={entry.turn}
              passages={passages}
              page={page}
              isShownFirst={entry.turn === askedTurn}
            />
          ) : (
            <PersonsMessage key={String(entry.id)} message={entry.message} page={page} />
          ),
        )}
    </section>
  );
}

function entriesOf({ turns, handoffMessages }: ListTurnsResponse): Entry[] {
  const entries: Entry[] = [
    ...turns.map((turn) => ({ id: turn.turn?.messageId ?? 0n, turn })),
    ...handoffMessages.map((message) => ({ id: message.id, message })),
  ];
  return entries.toSorted((a, b) => Number(a.id - b.id));
}

/** A message of a person of the team, or of the visitor to one. */
function PersonsMessage({ message, page }: { message: HandoffMessage; page: string }) {
  const { content, createdAt, agent } = message;
  const time = formatDateTime(createdAt);
  if (agent === undefined)
    return (
      <article className="turn" aria-label={time}>
        <div className="bubble visitor">
          <span className="visually-hidden">{t("Visitor:")} </span>
          <p dir="auto">{content}</p>
        </div>
      </article>
    );
  return (
    <article className="turn" aria-label={time}>
      <div className="reply">
        <div className="bubble">
          <span className="visually-hidden">{agent.name}: </span>
          <Markdown text={content} page={page} />
        </div>
        <p className="reply-facts">
          <span className="badge neutral">
            <bdi>{agent.name}</bdi>
          </span>
          <span>{time}</span>
        </p>
      </div>
    </article>
  );
}
