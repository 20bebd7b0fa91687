import type { HandoffMessage, ListTurnsResponse, SessionTurn } from "@parley/rpc/conversation";
import type { RefObject } from "react";
import { formatDateTime } from "../components/dates.ts";
import { t } from "../i18n/t.tsx";
import { Markdown } from "./markdown.tsx";
import type { Note } from "./notes-query.ts";
import { Turn } from "./turn.tsx";

type TranscriptProps = {
  pages: readonly ListTurnsResponse[];
  /** The turn to which the screen scrolls. */
  askedTurn?: SessionTurn | undefined;
  /** The team's private notes. Those after the last message of the pages are shown if there are no more pages. */
  notes?: readonly Note[] | undefined;
  hasMore?: boolean;
  ref?: RefObject<HTMLElement | null>;
};

type Entry = { id: bigint } & ({ turn: SessionTurn } | { message: HandoffMessage } | { note: Note });

/** The messages of a conversation in their order: turns of the bot, messages of and to people, and private notes. */
export function Transcript({ pages, askedTurn, notes = [], hasMore = false, ref }: TranscriptProps) {
  const passages = new Map(pages.flatMap((page) => page.passages.map(({ chunkId, text }) => [chunkId, text] as const)));
  const page = pages[0]?.session?.referrer ?? "";
  return (
    <section ref={ref} className="transcript" aria-labelledby="messages">
      <h2 id="messages" className="visually-hidden">
        {t("Messages")}
      </h2>
      {withNotes(pages.flatMap(entriesOf), notes, hasMore).map((entry) => {
        if ("note" in entry) return <PrivateNote key={`note ${entry.note.id}`} note={entry.note} />;
        const key = String(entry.id);
        if ("message" in entry) return <PersonsMessage key={key} message={entry.message} page={page} />;
        const { turn } = entry;
        return <Turn key={key} {...{ turn, passages, page }} isShownFirst={turn === askedTurn} />;
      })}
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

function withNotes(entries: readonly Entry[], notes: readonly Note[], hasMore: boolean): Entry[] {
  const last = entries.at(-1)?.id ?? 0n;
  const shown = notes
    .map((note) => ({ id: BigInt(note.after_message_id), note }))
    .filter(({ id }) => !hasMore || id < last);
  // A stable sort: a note follows the message with the same id.
  return [...entries, ...shown].toSorted((a, b) => Number(a.id - b.id));
}

/** A note that only the team sees. */
function PrivateNote({ note: { text, created_at: createdAt, agent } }: { note: Note }) {
  const time = formatDateTime(createdAt);
  return (
    <article className="turn note" aria-label={`${t("Private note")}, ${time}`}>
      <div className="reply">
        <p className="bubble" dir="auto">
          {text}
        </p>
        <p className="reply-facts">
          <span className="badge neutral">{t("Private note")}</span>
          <bdi>{agent.name}</bdi>
          <span>{time}</span>
        </p>
      </div>
    </article>
  );
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
