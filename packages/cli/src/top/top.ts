import type { ReadStream, WriteStream } from "node:tty";
import { WorkspaceAdminService } from "@parley/rpc/quota";
import type { Admin } from "../admin/call.ts";
import { CliError } from "../errors.ts";
import type { Result } from "../output/result.ts";
import { draw } from "./draw.ts";
import { type Picture, picture, recent, type WorkspaceShare } from "./picture.ts";
import { type Sample, type Service, scrape } from "./scrape.ts";
import { openScreen, pause } from "./screen.ts";

export type TopDeps = { admin: Admin; urls: Readonly<Record<Service, readonly string[]>>; workspaces: number };

const REFRESH_MS = 1_000;
/** The quota is asked of the database, for all workspaces. */
const QUOTA_EVERY_MS = 5_000;

/** One picture, of two samples a second apart. Exit code 1 when nobody answers. */
export async function snapshot(deps: TopDeps): Promise<Result> {
  const [first, quota] = await Promise.all([scrape(deps.urls), askQuota(deps)]);
  await pause(REFRESH_MS);
  const shown = { ...picture([first, await scrape(deps.urls)], quota.shares), problems: quota.problems };
  const lines = draw(shown, { width: Number.POSITIVE_INFINITY, height: Number.POSITIVE_INFINITY, color: false });
  return {
    json: shown,
    text: `${lines.map((line) => line.trimEnd()).join("\n")}\n`,
    exitCode: shown.replicas.some(({ up }) => up) ? 0 : 1,
  };
}

/** Pictures, one a second, until the person at the keyboard has seen enough. */
export async function live(
  deps: TopDeps,
  { stdout, stdin, color }: { stdout: WriteStream; stdin: ReadStream | undefined; color: boolean },
): Promise<void> {
  const screen = openScreen(stdout, stdin);
  let samples: Sample[] = [];
  let quota: QuotaAnswer = { shares: null, problems: [] };
  let asked = Number.NEGATIVE_INFINITY;
  const redraw = () => {
    if (samples.length === 0) return;
    const { width, height } = screen.size();
    const shown: Picture = { ...picture(samples, quota.shares), problems: quota.problems };
    const title = `parley top   ${new Date().toISOString().slice(0, 19).replace("T", " ")} UTC   q ends it`;
    screen.show([title.slice(0, width), "", ...draw(shown, { width, height: height - 2, color })].slice(0, height));
  };
  screen.onResize(redraw);
  try {
    while (!screen.ended.aborted) {
      const startedAt = performance.now();
      const isDue = startedAt - asked >= QUOTA_EVERY_MS;
      if (isDue) asked = startedAt;
      const [sample, answer] = await untilEnded(
        Promise.all([scrape(deps.urls), isDue ? askQuota(deps) : quota]),
        screen.ended,
        [undefined, quota],
      );
      if (sample === undefined) break;
      quota = answer;
      samples = recent([...samples, sample]);
      redraw();
      await pause(Math.max(0, REFRESH_MS - (performance.now() - startedAt)), screen.ended);
    }
  } finally {
    screen.close();
  }
}

/** The work's result, or `otherwise` as soon as it is to end. */
async function untilEnded<T, U>(work: Promise<T>, ended: AbortSignal, otherwise: U): Promise<T | U> {
  const end = new Promise<U>((resolve) => {
    if (ended.aborted) resolve(otherwise);
    ended.addEventListener("abort", () => resolve(otherwise), { once: true });
  });
  return Promise.race([work, end]);
}

type QuotaAnswer = { shares: WorkspaceShare[] | null; problems: string[] };

/** A quota service that is away leaves a gap and stops nothing. */
async function askQuota({ admin, workspaces: limit }: TopDeps): Promise<QuotaAnswer> {
  try {
    const { workspaces } = await admin(WorkspaceAdminService, (service) => service.listNearestCap({ limit }));
    const shares = workspaces.map(({ workspaceId: id, name, plan, used, held, cap }) => {
      return { id, name, plan, used, held, cap };
    });
    return { shares, problems: [] };
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return { shares: null, problems: [error.message] };
  }
}
