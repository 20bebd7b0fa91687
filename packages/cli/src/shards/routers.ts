import { execFile } from "node:child_process";
import { rename, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { urlOfShard } from "@parley/service-kit/migrations";
import { CliError } from "../errors.ts";
import { messageOf, onPlace, queryOnce } from "./connect.ts";
import { type Move, STATE_SCHEMA, switchedPlace } from "./move-steps.ts";
import { createConfigFile } from "./pgdog-config.ts";
import type { Settings } from "./settings.ts";
import { hasState, readState } from "./state.ts";
import { requirePlacements } from "./survey.ts";

/** How the routers learn where a shard is. */
export type RouterSwitch = {
  /** Where to write the new pgdog.toml, or values.yaml if the name ends in .yaml. */
  configFile: string | undefined;
  /** A shell command that applies the new configuration. */
  reload: string | undefined;
  /** The routers' admin databases, in which RELOAD reads the configuration again. */
  adminUrls: readonly string[];
  systemVariables: Readonly<Record<string, string>>;
  progress: (line: string) => void;
};

const SWITCH_TIMEOUT_MS = 120_000;
const POLL_MS = 200;

/** Applies the new configuration to the routers, and waits until the shard's alias leads to the new server in all of them. */
export async function switchRouters(
  move: Move,
  { configFile, reload, adminUrls, systemVariables, progress }: RouterSwitch,
): Promise<void> {
  if (configFile !== undefined) await writeConfig(move, configFile);
  if (reload !== undefined) await runCommand(reload, systemVariables);
  const failures = await Promise.all(
    adminUrls.map(async (url) => {
      try {
        await queryOnce(url, "RELOAD");
        return [];
      } catch (error) {
        return [`router ${new URL(url).host}: ${messageOf(error)}`];
      }
    }),
  );
  if (failures.flat().length > 0) throw new CliError(failures.flat().join("; "));
  const routerUrls = listRouterUrls(move.settings, adminUrls);
  const deadline = performance.now() + SWITCH_TIMEOUT_MS;
  let reported: string | undefined;
  for (;;) {
    const [reason] = (await Promise.all(routerUrls.map((url) => findReason(move, url)))).flatMap((each) => each ?? []);
    if (reason === undefined) return;
    if (reason !== reported) progress(`waiting for the routers: ${reason}`);
    reported = reason;
    if (performance.now() > deadline)
      throw new CliError(
        `the routers do not lead shard ${move.shard} to ${move.target.name} yet (${reason}): apply parley shards config, and run this command again`,
      );
    await sleep(POLL_MS);
  }
}

/** Returns the URLs of the sharded database: through the routers' common address, and through each router whose admin database is known. */
export function listRouterUrls({ routerUrl }: Pick<Settings, "routerUrl">, adminUrls: readonly string[]): string[] {
  const own = adminUrls.map((adminUrl) => {
    const { hostname, port } = new URL(adminUrl);
    return Object.assign(new URL(routerUrl), { hostname, port: port || "5432" }).href;
  });
  return [...new Set([routerUrl, ...own])];
}

async function writeConfig(move: Move, path: string): Promise<void> {
  const { settings } = move;
  const file = path.endsWith(".yaml") ? "values.yaml" : "pgdog.toml";
  const state = await onPlace(switchedPlace(move), (client) => readState(client, STATE_SCHEMA));
  const content = createConfigFile(file, settings, await requirePlacements(settings, state?.placements), {
    poolSize: 0,
    aliasPoolSize: 0,
  });
  // A router that reads the file meanwhile sees the old file or the new one.
  await writeFile(`${path}.new`, content);
  await rename(`${path}.new`, path);
}

/** Runs a shell command. */
export async function runCommand(command: string, env: Readonly<Record<string, string>>): Promise<void> {
  try {
    await promisify(execFile)("/bin/sh", ["-c", command], { env });
  } catch (error) {
    const { stderr = "" } = error as { stderr?: string };
    throw new CliError(`the reload command failed: ${stderr.trim() || messageOf(error)}`, { cause: error });
  }
}

/** Returns why a router does not lead to the new database, which alone has the move's state; undefined if it does. */
async function findReason({ shard }: Move, routerUrl: string): Promise<string | undefined> {
  const name = new URL(routerUrl).host;
  try {
    const [row] = await queryOnce<{ isMoved: boolean }>(
      urlOfShard(routerUrl, shard),
      `SELECT ${hasState(STATE_SCHEMA)} AS "isMoved"`,
    );
    return row?.isMoved ? undefined : `the alias at ${name} leads to the old database`;
  } catch (error) {
    return `${name}: ${messageOf(error)}`;
  }
}
