import type { ReadStream, WriteStream } from "node:tty";
import { WorkspaceAdminService } from "@parley/rpc/quota";
import type { CallAdmin } from "../admin/call.ts";
import { CliError } from "../errors.ts";
import type { Result } from "../output/result.ts";
import { type Activity, computeActivity, dropOldSamples, type WorkspaceUsage } from "./activity.ts";
import { drawActivity } from "./draw.ts";
import { type ReplicaTargets, type Sample, scrapeReplicas } from "./scrape.ts";
import { awaitUnlessAborted, openScreen, pause } from "./screen.ts";

export type TopDeps = {
  callAdmin: CallAdmin;
  targets: ReplicaTargets;
  /** How many of the workspaces nearest to their cap to show. */
  workspaceLimit: number;
};

const REFRESH_MS = 1_000;
/** Longer than REFRESH_MS, because each call of readQuota queries quota's database. */
const QUOTA_INTERVAL_MS = 5_000;

/** Reports the activity from two samples taken a second apart. Exit code 1 when no replica returned its metrics. */
export async function reportSnapshot(deps: TopDeps): Promise<Result> {
  const [first, quota] = await Promise.all([scrapeReplicas(deps.targets), readQuota(deps)]);
  await pause(REFRESH_MS);
  const current = computeActivityWithQuota([first, await scrapeReplicas(deps.targets)], quota);
  const lines = drawActivity(current, {
    width: Number.POSITIVE_INFINITY,
    height: Number.POSITIVE_INFINITY,
    color: false,
  });
  return {
    json: current,
    text: `${lines.map((line) => line.trimEnd()).join("\n")}\n`,
    exitCode: current.replicas.some(({ up }) => up) ? 0 : 1,
  };
}

/** Shows the activity every second until the user quits. */
export async function showLive(
  deps: TopDeps,
  { stdout, stdin, color }: { stdout: WriteStream; stdin: ReadStream | undefined; color: boolean },
): Promise<void> {
  const screen = openScreen(stdout, stdin);
  let samples: Sample[] = [];
  let quota: QuotaResult = { workspaces: null, problems: [] };
  let lastQuotaReadMs = Number.NEGATIVE_INFINITY;
  const redraw = () => {
    if (samples.length === 0) return;
    const { width, height } = screen.size();
    const current = computeActivityWithQuota(samples, quota);
    const title = `parley top   ${new Date().toISOString().slice(0, 19).replace("T", " ")} UTC   q quits`;
    screen.show(
      [title.slice(0, width), "", ...drawActivity(current, { width, height: height - 2, color })].slice(0, height),
    );
  };
  screen.onResize(redraw);
  try {
    while (!screen.ended.aborted) {
      const startedAt = performance.now();
      const isDue = startedAt - lastQuotaReadMs >= QUOTA_INTERVAL_MS;
      if (isDue) lastQuotaReadMs = startedAt;
      const work = Promise.all([scrapeReplicas(deps.targets), isDue ? readQuota(deps) : quota]);
      const result = await awaitUnlessAborted(work, screen.ended);
      if (result === undefined) break;
      const [sample, latestQuota] = result;
      quota = latestQuota;
      samples = dropOldSamples([...samples, sample]);
      redraw();
      await pause(Math.max(0, REFRESH_MS - (performance.now() - startedAt)), screen.ended);
    }
  } finally {
    screen.close();
  }
}

type QuotaResult = { workspaces: WorkspaceUsage[] | null; problems: string[] };

function computeActivityWithQuota(samples: readonly Sample[], { workspaces, problems }: QuotaResult): Activity {
  const activity = computeActivity(samples, workspaces);
  return { ...activity, problems: [...activity.problems, ...problems] };
}

/** Reads the workspaces nearest their cap. If the quota service fails, returns the problem instead of throwing. */
async function readQuota({ callAdmin, workspaceLimit: limit }: TopDeps): Promise<QuotaResult> {
  try {
    const nearest = await callAdmin(WorkspaceAdminService, (service) => service.listNearestCap({ limit }));
    const workspaces = nearest.workspaces.map(({ workspaceId: id, name, plan, used, held, cap }) => {
      return { id, name, plan, used, held, cap };
    });
    return { workspaces, problems: [] };
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return { workspaces: null, problems: [error.message] };
  }
}
