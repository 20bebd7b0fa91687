import {
  type CheckedPassage,
  CheckQuestionRequestSchema,
  type CheckQuestionResponse,
  EvaluationAdminService,
  KnowledgeAdminService,
} from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type SubmitEvent, useEffect, useRef, useState } from "react";
import { questionCheckQuery } from "../api/question-queries.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { TextField } from "../components/field.tsx";
import { Icon } from "../components/icon.tsx";
import { Failure, Loading } from "../components/states.tsx";
import "./try-question.css";
import { plural, t } from "../i18n/t.tsx";

type TryQuestionProps = {
  botSlug: string;
  /** The question in the page's URL; may be empty. */
  question: string;
};

/** Shows which passages a reply to a question would be based on. */
export function TryQuestion({ botSlug, question }: TryQuestionProps) {
  const { workspace_id: workspaceId } = useSession();
  const navigate = useNavigate();
  const [text, setText] = useState(question);
  const section = useRef<HTMLElement>(null);
  const initialQuestion = useRef(question);
  useEffect(() => {
    if (initialQuestion.current !== "") section.current?.querySelector("input")?.focus();
  }, []);
  // The browser's Back and Forward change the question.
  useEffect(() => setText(question), [question]);
  const { data, error, isFetching, refetch } = useQuery(questionCheckQuery(workspaceId, botSlug, question));
  const hasResult = data !== undefined;
  useEffect(() => {
    // If the page's URL contained a question when it was opened, shows its result, which is below the documents.
    if (hasResult && initialQuestion.current === question) section.current?.scrollIntoView();
  }, [hasResult, question]);
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const newQuestion = text.trim();
    if (newQuestion === question) void refetch();
    else
      void navigate({
        to: "/knowledge",
        // Keeps the URL's `title`, the React key of AddText: with another key, AddText would lose the text that the owner is writing.
        search: (before) => ({ ...before, bot: botSlug, question: newQuestion }),
        resetScroll: false,
      });
  };
  return (
    <section ref={section} className="panel" aria-labelledby="try-question">
      <h2 id="try-question">{t("Try a question")}</h2>
      <form className="inline-form" onSubmit={submit}>
        <TextField
          label={t("Question")}
          required
          maxLength={limitsOf(CheckQuestionRequestSchema.field.question).max}
          pattern=".*\S.*"
          formatError={t("Write a question.")}
          placeholder={t("As a visitor would ask")}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
        <button type="submit" className="button" disabled={isFetching}>
          <Icon name="search" />
          {isFetching ? t("Searching…") : t("Search")}
        </button>
      </form>
      <p className="hint">
        {t("Searches as for a visitor's message. Does not write an answer, and does not count as a message.")}
      </p>
      <div className="form" aria-live="polite">
        {error && !isFetching && <Failure error={error} onRetry={refetch} />}
        {isFetching && <Loading lines={2} label={t("Searching")} />}
        {data && !isFetching && <SearchResult botSlug={botSlug} question={question} result={data} />}
      </div>
    </section>
  );
}

type SearchResultProps = { botSlug: string; question: string; result: CheckQuestionResponse };

function SearchResult({ botSlug, question, result: { passages, grounded, semanticSearch } }: SearchResultProps) {
  const mayAddCase = useMayCall(EvaluationAdminService.method.addCase);
  const mayAddSource = useMayCall(KnowledgeAdminService.method.addSource);
  const nextStep = grounded
    ? mayAddCase && (
        <Link to="/evaluation" search={{ bot: botSlug, question }}>
          {t("Add to the evaluation")}
        </Link>
      )
    : mayAddSource && (
        <Link to="/knowledge" search={{ bot: botSlug, title: question }} resetScroll={false}>
          {t("Add knowledge")}
        </Link>
      );
  return (
    <>
      <p className={grounded ? "verdict" : "verdict none"}>
        <Icon name={grounded ? "check" : "alert"} />
        {describeVerdict(grounded, passages)}
      </p>
      {!["", "ok"].includes(semanticSearch) && (
        <p className="hint">{t("Only words were compared, because the search by meaning failed or is off.")}</p>
      )}
      {passages.length > 0 && (
        <ol className="passages" aria-label={t("Passages found")}>
          {passages.map((passage, index) => (
            <Passage key={index} passage={passage} />
          ))}
        </ol>
      )}
      {nextStep && <p className="links">{nextStep}</p>}
    </>
  );
}

function describeVerdict(isGrounded: boolean, passages: readonly CheckedPassage[]): string {
  if (isGrounded)
    return plural(
      passages.filter((passage) => passage.used).length,
      "The bot would look for an answer in this passage.",
      "The bot would look for an answer in the first {count} of these passages.",
    );
  if (passages.length === 0) return t("Nothing was found. An answer would not be based on a document.");
  return t("No passage fits into the prompt. An answer would not be based on a document.");
}

function Passage({ passage }: { passage: CheckedPassage }) {
  const { document, heading, text, used } = passage;
  return (
    <li>
      <p>
        <strong>{document}</strong>
        {heading && heading !== document && ` · ${heading}`}
      </p>
      <p className="passage-facts">
        <span>{describeMatch(passage)}</span>
        {!used && <span className="badge neutral">{t("does not fit into the prompt")}</span>}
      </p>
      <p className="passage-text" dir="auto">
        {text}
      </p>
    </li>
  );
}

/** The list is in the order of the bot's search. Its scores compare only the passages of one question, so that the order is enough. */
function describeMatch({ wordRank, similarity }: CheckedPassage): string {
  if (similarity === undefined) return t("Found by its words");
  return wordRank === undefined ? t("Found by its meaning") : t("Found by its words and its meaning");
}
