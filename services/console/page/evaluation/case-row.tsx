import { EvaluationAdminService, type EvaluationCase } from "@parley/rpc/conversation";
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
  /** The document's place in the last run's results, from 1; 0 if the document was not found. Undefined if the run did not include the case. */
  rank: number | undefined;
  /** The same, in the run before the last. */
  previousRank: number | undefined;
};

export function CaseRow({ botSlug, evaluationCase: { id, question, document }, rank, previousRank }: CaseRowProps) {
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
      <span className={rank === 0 ? "row-icon error" : "row-icon"}>
        <Icon name={rank === undefined ? "question" : rank === 0 ? "alert" : "check"} />
      </span>
      <span className="row-text">
        <strong dir="auto">{question}</strong>
        <small>{document}</small>
        <small>
          {rank === undefined ? describeUnsearched(previousRank) : describePlace(rank)}
          {previousRank !== undefined && ` · ${describePreviousPlace(previousRank)}`}
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

/** For a case that was added after the last run, or that the run did not reach within its time limit. */
function describeUnsearched(previousRank: number | undefined): string {
  return previousRank === undefined ? t("Not run yet") : t("Not searched in the last run");
}

function describePlace(rank: number): string {
  return rank === 0 ? t("Not found") : t("Found at place {place}", { place: rank });
}

function describePreviousPlace(rank: number): string {
  return rank === 0 ? t("before: not found") : t("before: found at place {place}", { place: rank });
}
