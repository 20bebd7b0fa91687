import { EvaluationAdminService, type EvaluationRun } from "@parley/rpc/conversation";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { evaluations } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { evaluationQuery } from "../api/question-queries.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Button } from "../components/button.tsx";
import { formatDateTime } from "../components/dates.ts";
import { Icon } from "../components/icon.tsx";
import { formatNumber, formatPercent } from "../i18n/numbers.ts";
import { plural, t } from "../i18n/t.tsx";

type RunsProps = {
  botSlug: string;
  /** Latest first. */
  runs: readonly EvaluationRun[];
  hasCases: boolean;
};

/** Shows the share of questions whose document was found, in the last run and in the run before. */
export function Runs({ botSlug, runs, hasCases }: RunsProps) {
  const { workspace_id: workspaceId } = useSession();
  const mayRun = useMayCall(EvaluationAdminService.method.runEvaluation);
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const running = useMutation({
    mutationFn: () => evaluations.runEvaluation({ workspaceId, botSlug }),
    onSuccess: async ({ run }) => {
      await queryClient.invalidateQueries(evaluationQuery(workspaceId, botSlug));
      if (run) announce(describeRecall(run));
    },
  });
  const [last, before] = runs;
  return (
    <section className="panel" aria-labelledby="result">
      <div className="panel-header">
        <h2 id="result">{t("Result")}</h2>
        {mayRun && (
          <Button
            className="button primary"
            isDisabled={running.isPending || !hasCases}
            onClick={() => running.mutate()}
          >
            <Icon name="play" />
            {running.isPending ? t("Running…") : t("Run")}
          </Button>
        )}
      </div>
      {running.error && (
        <p className="form-error" role="alert">
          {errorText(running.error)}
        </p>
      )}
      {last === undefined && (
        <p className="hint">
          {t(
            "A run searches the knowledge with each question, as with a visitor's message, and counts the questions for which the search finds their document.",
          )}
        </p>
      )}
      {last && (
        <>
          <dl className="recall">
            <div>
              <dt>{t("Found in the last run")}</dt>
              <dd>{formatShare(last)}</dd>
            </div>
            <div>
              <dt>{t("In the run before")}</dt>
              <dd>{before ? formatShare(before) : "–"}</dd>
            </div>
          </dl>
          {describeGaps(last).map((gap) => (
            <p key={gap} className="hint">
              {gap}
            </p>
          ))}
          <History runs={runs} />
        </>
      )}
    </section>
  );
}

function History({ runs }: { runs: readonly EvaluationRun[] }) {
  return (
    <details className="runs">
      <summary>{plural(runs.length, "{count} run", "The last {count} runs")}</summary>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">{t("Time")}</th>
            <th scope="col" className="number">
              {t("Documents")}
            </th>
            <th scope="col" className="number">
              {t("Found")}
            </th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={String(run.id)}>
              <th scope="row">{formatDateTime(run.ranAt)}</th>
              <td className="number">{formatNumber(run.documents)}</td>
              <td className="number">
                {t("{part} of {total}", { part: run.found, total: run.searched })} ({formatShare(run)})
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function formatShare({ found, searched }: EvaluationRun): string {
  return searched === 0 ? "–" : formatPercent(found / searched);
}

function describeRecall({ found, searched }: EvaluationRun): string {
  return `${t("Found in the last run")}: ${t("{part} of {total}", { part: found, total: searched })}`;
}

function describeGaps({ cases, searched, semanticFailures }: EvaluationRun): string[] {
  const gaps = [];
  if (searched < cases)
    gaps.push(
      plural(
        cases,
        "{searched} of {count} question was searched: the run reached its time limit.",
        "{searched} of {count} questions were searched: the run reached its time limit.",
        { searched },
      ),
    );
  if (semanticFailures > 0)
    gaps.push(
      t("Questions for which only words were compared, because the search by meaning failed: {count}.", {
        count: semanticFailures,
      }),
    );
  return gaps;
}
