import { EvaluationAdminService, type EvaluationCase, type EvaluationResult } from "@parley/rpc/conversation";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useRef } from "react";
import { evaluations } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { evaluationQuery } from "../api/question-queries.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Button } from "../components/button.tsx";
import { focusNeighbour } from "../components/focus-neighbour.ts";
import { Icon } from "../components/icon.tsx";
import { t } from "../i18n/t.tsx";

type CaseRowProps = {
  botSlug: string;
  evaluationCase: EvaluationCase;
  /** The case's result in the last run. Undefined if the run did not include the case. */
  result: EvaluationResult | undefined;
  /** The same, in the run before the last. */
  previousResult: EvaluationResult | undefined;
};

export function CaseRow({ botSlug, evaluationCase, result, previousResult }: CaseRowProps) {
  const { id, question, document } = evaluationCase;
  const { workspace_id: workspaceId } = useSession();
  const mayRemove = useMayCall(EvaluationAdminService.method.removeCase);
  const row = useRef<HTMLLIElement>(null);
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const removal = useMutation({
    mutationFn: () => evaluations.removeCase({ workspaceId, botSlug, id }),
    onSuccess: async () => {
      focusNeighbour(row.current);
      announce(t("The question was removed."));
      await queryClient.invalidateQueries(evaluationQuery(workspaceId, botSlug));
    },
    onError: (error) => announce(errorText(error), { isError: true }),
  });
  return (
    <li ref={row} className="row">
      <span className={result && !isFound(result) ? "row-icon error" : "row-icon"}>
        <Icon name={result === undefined ? "question" : isFound(result) ? "check" : "alert"} />
      </span>
      <span className="row-text">
        <strong dir="auto">{question}</strong>
        <small>{document || t("An answer of yours")}</small>
        <small>
          {result ? describeResult(result) : describeUnsearched(previousResult)}
          {previousResult && ` · ${describePreviousResult(previousResult)}`}
          {" · "}
          <Link
            to="/knowledge"
            search={{ bot: botSlug, question }}
            resetScroll={false}
            aria-label={t("Try: {question}", { question })}
          >
            {t("Try")}
          </Link>
        </small>
      </span>
      {mayRemove && (
        <Button
          className="icon-button"
          aria-label={t("Remove {name}", { name: question })}
          isDisabled={removal.isPending}
          onClick={() => removal.mutate()}
        >
          <Icon name="trash" />
        </Button>
      )}
    </li>
  );
}

function isFound({ rank, answerId }: EvaluationResult): boolean {
  return rank > 0 || answerId !== 0n;
}

/** For a case that was added after the last run, or that the run did not reach within its time limit. */
function describeUnsearched(previous: EvaluationResult | undefined): string {
  return previous === undefined ? t("Not run yet") : t("Not searched in the last run");
}

function describeResult({ rank, answerId }: EvaluationResult): string {
  if (answerId !== 0n) return t("Your answer is given");
  return rank === 0 ? t("Not found") : t("Found at place {place}", { place: rank });
}

function describePreviousResult({ rank, answerId }: EvaluationResult): string {
  if (answerId !== 0n) return t("before: your answer was given");
  return rank === 0 ? t("before: not found") : t("before: found at place {place}", { place: rank });
}
