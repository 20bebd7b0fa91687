import {
  type CheckedPassage,
  type CheckQuestionResponse,
  EvaluationAdminService,
  KnowledgeAdminService,
} from "@parley/rpc/conversation";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type SubmitEvent, useEffect, useRef, useState } from "react";
import { questionCheckQuery } from "../api/question-queries.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { TextField } from "../components/field.tsx";
import { Icon } from "../components/icon.tsx";
import { Failure, Loading } from "../components/states.tsx";
import "./try-question.css";

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
  const form = useRef<HTMLFormElement>(null);
  const initialQuestion = useRef(question);
  useEffect(() => {
    // If the page's URL contains a question, focuses the form's field. The browser then scrolls to the form, which is below the documents.
    if (initialQuestion.current !== "") form.current?.querySelector("input")?.focus();
  }, []);
  // The browser's Back and Forward change the question.
  useEffect(() => setText(question), [question]);
  const { data, error, isFetching, refetch } = useQuery(questionCheckQuery(workspaceId, botSlug, question));
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
    <section className="panel" aria-labelledby="try-question">
      <h2 id="try-question">Try a question</h2>
      <form ref={form} className="inline-form" onSubmit={submit}>
        <TextField
          label="Question"
          required
          maxLength={500}
          pattern=".*\S.*"
          formatError="Write a question."
          placeholder="As a visitor would ask"
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
        <button type="submit" className="button" disabled={isFetching}>
          <Icon name="search" />
          {isFetching ? "Searching…" : "Search"}
        </button>
      </form>
      <p className="hint">
        Searches as for a visitor's message. Does not write an answer, and does not count as a message.
      </p>
      <div className="form" aria-live="polite">
        {error && !isFetching && <Failure error={error} onRetry={refetch} />}
        {isFetching && <Loading lines={2} label="Searching" />}
        {data && !isFetching && <SearchResult botSlug={botSlug} question={question} result={data} />}
      </div>
    </section>
  );
}

type SearchResultProps = { botSlug: string; question: string; result: CheckQuestionResponse };

function SearchResult({ botSlug, question, result: { passages, grounded, semanticSearch } }: SearchResultProps) {
  const mayAddCase = useMayCall(EvaluationAdminService.method.addCase);
  const mayAddSource = useMayCall(KnowledgeAdminService.method.addSource);
  const usedCount = passages.filter((passage) => passage.used).length;
  const nextStep = grounded
    ? mayAddCase && (
        <Link to="/evaluation" search={{ bot: botSlug, question }}>
          Add to the evaluation
        </Link>
      )
    : mayAddSource && (
        <Link to="/knowledge" search={{ bot: botSlug, title: question }}>
          Add knowledge
        </Link>
      );
  return (
    <>
      <p className={grounded ? "verdict" : "verdict none"}>
        <Icon name={grounded ? "check" : "alert"} />
        {grounded
          ? `The bot would look for an answer in ${usedCount === 1 ? "this passage" : `the first ${usedCount} of these passages`}.`
          : `${passages.length === 0 ? "Nothing was found" : "No passage fits into the prompt"}. An answer would not be based on a document.`}
      </p>
      {!["", "ok"].includes(semanticSearch) && (
        <p className="hint">Only words were compared, because the search by meaning failed or is off.</p>
      )}
      {passages.length > 0 && (
        <ol className="passages" aria-label="Passages found">
          {passages.map((passage, index) => (
            <Passage key={index} passage={passage} />
          ))}
        </ol>
      )}
      {nextStep && <p className="links">{nextStep}</p>}
    </>
  );
}

function Passage({ passage }: { passage: CheckedPassage }) {
  const { document, heading, text, used } = passage;
  return (
    <li>
      <p>
        <strong>{document}</strong>
        {heading && ` · ${heading}`}
      </p>
      <p className="passage-scores">
        {describeScores(passage).map((score) => (
          <span key={score}>{score}</span>
        ))}
        {!used && <span className="badge neutral">does not fit into the prompt</span>}
      </p>
      <p className="passage-text">{text}</p>
    </li>
  );
}

function describeScores({ score, wordRank, similarity }: CheckedPassage): string[] {
  const format = (value: number, digits: number) =>
    value.toLocaleString(undefined, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return [
    `Score ${format(score, 4)}`,
    wordRank === undefined ? "Not found by words" : `Words ${format(wordRank, 2)}`,
    ...(similarity === undefined ? [] : [`Meaning ${format(similarity, 2)}`]),
  ];
}
