import { type Answer, AnswerAdminService } from "@parley/rpc/conversation";
import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { AnswerRow } from "../answers/answer-row.tsx";
import { EditAnswer } from "../answers/edit-answer.tsx";
import { TryMessage } from "../answers/try-message.tsx";
import { answersQuery } from "../api/question-queries.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { BotScreen, useBotSlug } from "../components/bot-screen.tsx";
import { TextField } from "../components/field.tsx";
import { Icon } from "../components/icon.tsx";
import { ShowMore } from "../components/show-more.tsx";
import { Empty, Failure, Loading } from "../components/states.tsx";
import { formatNumber } from "../i18n/numbers.ts";
import { t } from "../i18n/t.tsx";
import "../answers/answers.css";

const PAGE_SIZE = 25;

export function Answers() {
  const { workspace_id: workspaceId } = useSession();
  // Starts the query before the list of bots is loaded, so that the two requests run in parallel.
  useQuery(answersQuery(workspaceId, useBotSlug()));
  return (
    <BotScreen
      title={t("Answers")}
      intro={t("Texts that the bot gives word for word, without a model, to visitors who ask one of their questions.")}
      path="/answers"
    >
      {({ slug }) => <BotAnswers key={slug} botSlug={slug} />}
    </BotScreen>
  );
}

function BotAnswers({ botSlug }: { botSlug: string }) {
  const { workspace_id: workspaceId } = useSession();
  const { data: answers, error, refetch } = useQuery(answersQuery(workspaceId, botSlug));
  const [isAdding, setAdding] = useState(false);
  // Not in the answer's row, so that the dialog keeps what was typed if another member removes the answer.
  const [edited, setEdited] = useState<Answer>();
  const mayAdd = useMayCall(AnswerAdminService.method.addAnswer);
  const addButton = mayAdd && (
    <button type="button" className="button primary" onClick={() => setAdding(true)}>
      <Icon name="plus" />
      {t("New answer")}
    </button>
  );
  if (answers === undefined) return error ? <Failure error={error} onRetry={refetch} /> : <Loading />;
  return (
    <>
      {answers.length === 0 ? (
        <Empty icon="answer" title={t("No answer yet")} action={addButton}>
          {mayAdd
            ? t("For example, write once how visitors find their order, and the bot always says exactly this.")
            : t("An owner of the workspace can add one.")}
        </Empty>
      ) : (
        <>
          {addButton && <div className="list-actions">{addButton}</div>}
          <AnswerList botSlug={botSlug} answers={answers} onEdit={setEdited} />
          <section className="panel" aria-labelledby="try-message">
            <h2 id="try-message">{t("Try a message")}</h2>
            <TryMessage botSlug={botSlug} />
          </section>
        </>
      )}
      {edited && <EditAnswer botSlug={botSlug} answer={edited} onClose={() => setEdited(undefined)} />}
      {isAdding && <EditAnswer botSlug={botSlug} onClose={() => setAdding(false)} />}
    </>
  );
}

type AnswerListProps = { botSlug: string; answers: readonly Answer[]; onEdit: (answer: Answer) => void };

function AnswerList({ botSlug, answers, onEdit }: AnswerListProps) {
  const [search, setSearch] = useState("");
  const [shown, setShown] = useState(PAGE_SIZE);
  const list = useRef<HTMLUListElement>(null);
  const isSearching = search.trim() !== "";
  // The latest first.
  const matches = answers.filter((answer) => hasWords(answer, search)).toReversed();
  const showMore = async () => {
    setShown(shown + PAGE_SIZE);
    return { isError: false };
  };
  return (
    <section className="panel" aria-labelledby="answers">
      <h2 id="answers">
        {t("Answers")} <span className="count">{formatNumber(matches.length)}</span>
      </h2>
      {(answers.length > 1 || isSearching) && (
        <TextField
          label={t("Search")}
          type="search"
          value={search}
          onChange={({ target }) => {
            setSearch(target.value);
            setShown(PAGE_SIZE);
          }}
        />
      )}
      <p className="visually-hidden" role="status">
        {isSearching && t("Answers found: {count}", { count: matches.length })}
      </p>
      {matches.length === 0 && <p className="hint">{t("No answer matches")}</p>}
      <ul ref={list} className="rows" aria-labelledby="answers">
        {matches.slice(0, shown).map((answer) => (
          <AnswerRow key={String(answer.id)} answer={answer} botSlug={botSlug} onEdit={() => onEdit(answer)} />
        ))}
      </ul>
      {matches.length > shown && <ShowMore list={list} fetchNextPage={showMore} isFetching={false} />}
    </section>
  );
}

function hasWords({ questions, answer }: Answer, search: string): boolean {
  const text = fold([...questions, answer].join("\n"));
  return fold(search)
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** Accents and case do not matter for a search. */
function fold(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}
